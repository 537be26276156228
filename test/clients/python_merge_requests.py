"""Merge requests with python-gitlab 3.12."""
from python_support import check, client, end, person, same

gl = client()
mate = gl.users.create(person("python-review"))
project = gl.projects.create({"name": "Python Review", "initialize_with_readme": True})
project.members.create({"user_id": mate.id, "access_level": 30})
for branch in ("rope", "anchor"):
    project.branches.create({"branch": branch, "ref": "main"})

def open_request(title, branch, **more):
    return project.mergerequests.create({"title": title, "source_branch": branch, "target_branch": "main", **more})

with check("merge requests: create(), get(), save() and list() with filters"):
    request = open_request("Add a rope", "rope", labels=["Bug"], reviewer_ids=[mate.id])
    same((request.state, request.labels, request.reviewers[0]["username"]), ("opened", ["Bug"], mate.username))
    request.labels = ["Bug", "New"]
    request.assignee_id = mate.id
    request.save()
    same(project.mergerequests.get(request.iid).assignee["id"], mate.id)
    open_request("Draft: Add an anchor", "anchor")
    same([each.title for each in project.mergerequests.list(labels=["New"], get_all=True)], ["Add a rope"])
    same([each.title for each in project.mergerequests.list(wip="yes", get_all=True)], ["Draft: Add an anchor"])
    same(len(gl.mergerequests.list(scope="all", reviewer_id=mate.id, get_all=True)), 1)

with check("merge requests: notes, discussions, emoji, label events, participants and to-dos"):
    note = request.notes.create({"body": "Which rope?"})
    note.awardemojis.create({"name": "thumbsup"})
    discussion = request.discussions.create({"body": "The long one"})
    discussion.notes.create({"body": "Which is the longest?"})
    same([each.body for each in request.notes.list(sort="asc", activity_filter="only_comments", get_all=True)],
         ["Which rope?", "The long one", "Which is the longest?"])
    same([(each.action, each.label["name"]) for each in request.resourcelabelevents.list(get_all=True)],
         [("add", "Bug"), ("add", "New")])
    first = request.resourcelabelevents.list(get_all=True)[0]
    same(request.resourcelabelevents.get(first.id).resource_type, "MergeRequest")
    same(sorted(each["username"] for each in request.participants()), sorted([mate.username, "root"]))
    request.todo()
    same([each.target_type for each in gl.todos.list(type="MergeRequest", get_all=True)], ["MergeRequest"])

with check("merge requests: close, reopen and delete, and their events"):
    request.state_event = "close"
    request.save()
    same(project.mergerequests.get(request.iid).state, "closed")
    request.state_event = "reopen"
    request.save()
    same([each.action_name for each in project.events.list(target_type="merge_request", get_all=True)],
         ["opened", "closed", "opened", "opened"])
    request.delete()
    same(len(project.mergerequests.list(get_all=True)), 1)

end()
