"""Notes on issues and epics with python-gitlab 3.12."""
from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError, GitlabUpdateError
from python_support import check, client, end, person, refused, same

gl = client()
mate = gl.users.create(person("python-note"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Log", "path": "python-log", "visibility": "public"})
project = gl.projects.create({"name": "Python Bell", "namespace_id": group.id, "visibility": "public"})
issue = project.issues.create({"title": "Ring"})

def bodies(item):
    return [each.body for each in item.notes.list(activity_filter="only_comments", sort="asc")]

with check("notes: create(), get() and list() on an issue"):
    note = issue.notes.create({"body": "Twice", "created_at": "2020-01-01T00:00:00Z"})
    same((note.body, note.noteable_iid, note.noteable_type, note.system), ("Twice", 1, "Issue", False))
    same(note.created_at, "2020-01-01T00:00:00.000Z")
    same(issue.notes.get(note.id).attributes, note.attributes)
    issue.notes.create({"body": "Thrice"})
    same(bodies(issue), ["Twice", "Thrice"])
    same(project.issues.get(1).user_notes_count, 2)
    refused(GitlabGetError, 404, lambda: issue.notes.get(999999999), "404 Not found")
    refused(GitlabCreateError, 400, lambda: issue.notes.create({"body": ""}), "body is empty")

with check("notes: save(), update() and delete() on an issue"):
    note.body = "Once"
    note.save()
    same(issue.notes.update(note.id, {"body": "Once more"})["body"], "Once more")
    theirs = mates.projects.get(project.id).issues.get(1)
    refused(GitlabUpdateError, 403, lambda: theirs.notes.update(note.id, {"body": "x"}), "author")
    refused(GitlabDeleteError, 403, lambda: theirs.notes.delete(note.id), "Maintainer")
    note.delete()
    same(bodies(issue), ["Thrice"])

with check("notes: internal ones are hidden from others"):
    hidden = issue.notes.create({"body": "Quietly", "internal": True})
    same((hidden.internal, hidden.confidential), (True, True))
    theirs = mates.projects.get(project.id).issues.get(1)
    same((bodies(theirs), theirs.user_notes_count), (["Thrice"], 1))
    refused(GitlabGetError, 404, lambda: theirs.notes.get(hidden.id), "404 Not found")
    refused(GitlabCreateError, 403, lambda: theirs.notes.create({"body": "x", "internal": True}), "Planner")

with check("notes: on an epic, which the client names by its id"):
    epic = group.epics.create({"title": "Watch"})
    note = epic.notes.create({"body": "Eight bells"})
    same((note.noteable_type, note.noteable_id, note.noteable_iid), ("Epic", epic.id, epic.iid))
    note.body = "Four bells"
    note.save()
    same(bodies(epic), ["Four bells"])
    note.delete()
    same(bodies(epic), [])

with check("discussions: create, reply, change and delete"):
    discussion = issue.discussions.create({"body": "Which way?"})
    reply = discussion.notes.create({"body": "West"})
    same(reply.type, "DiscussionNote")
    same(discussion.notes.get(reply.id).body, "West")
    reply.body = "East"
    reply.save()
    read = issue.discussions.get(discussion.id)
    same(([each["body"] for each in read.attributes["notes"]], read.individual_note), (["Which way?", "East"], False))
    same(discussion.id in [each.id for each in issue.discussions.list(get_all=True)], True)
    reply.delete()
    same(len(issue.discussions.get(discussion.id).attributes["notes"]), 1)

with check("award emoji: on an issue and its notes"):
    award = issue.awardemojis.create({"name": "thumbsup"})
    same((award.name, award.awardable_type, project.issues.get(1).upvotes), ("thumbsup", "Issue", 1))
    same(issue.awardemojis.get(award.id).attributes, award.attributes)
    refused(GitlabCreateError, 409, lambda: issue.awardemojis.create({"name": "thumbsup"}), "taken")
    award.delete()
    same(issue.awardemojis.list(), [])
    note = issue.notes.create({"body": "Well done"})
    note.awardemojis.create({"name": "tada"})
    same([each.name for each in note.awardemojis.list()], ["tada"])

end()
