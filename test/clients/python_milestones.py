"""Milestones with python-gitlab 3.12."""
from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError, GitlabPromoteError, GitlabUpdateError
from python_support import check, client, end, person, refused, same

gl = client()
mate = gl.users.create(person("python-goal"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Goals", "path": "python-goals"})
project = gl.projects.create({"name": "Python Voyage", "namespace_id": group.id})

def titles(rows):
    return [each.title for each in rows]

for kind, place in (("project", project), ("group", group)):
    with check(f"milestones of a {kind}: create(), get() and list()"):
        dates = {"start_date": "2031-01-01", "due_date": "2031-01-31"}
        made = place.milestones.create({"title": f"{kind} v1", "description": "First", **dates})
        same((made.iid, made.title, made.state, made.expired), (1, f"{kind} v1", "active", False))
        same((made.start_date, made.due_date, made.description), ("2031-01-01", "2031-01-31", "First"))
        same(getattr(made, f"{kind}_id"), place.id)
        same(place.milestones.get(made.id).attributes, made.attributes)
        same(titles(place.milestones.list(iids=[1, 2], state="active", search="V1")), [f"{kind} v1"])
        same(place.milestones.list(state="closed"), [])
        refused(GitlabCreateError, 400, lambda: place.milestones.create({"title": made.title}), "has already been taken")
        refused(GitlabCreateError, 400, lambda: place.milestones.create({"title": "Any"}), "is a word that filters")
        refused(GitlabGetError, 404, lambda: place.milestones.get(0), "404 Milestone Not Found")

    with check(f"milestones of a {kind}: save() closes, issues() lists"):
        made.title = f"{kind} v2"
        made.state_event = "close"
        made.save()
        same((made.title, made.state), (f"{kind} v2", "closed"))
        same(place.milestones.update(made.id, {"state_event": "activate"})["state"], "active")
        project.issues.create({"title": f"{kind} leak", "milestone_id": made.id})
        same(titles(made.issues()), [f"{kind} leak"])
        refused(GitlabUpdateError, 400, lambda: place.milestones.update(made.id, {"due_date": "2030-01-01"}), "due_date")

with check("milestones: those of the groups above on request"):
    same(titles(project.milestones.list(iterator=True)), ["project v2"])
    same(sorted(titles(project.milestones.list(include_ancestors=True, iterator=True, per_page=1))), ["group v2", "project v2"])
    same(sorted(titles(group.milestones.list(include_descendants=True))), ["group v2", "project v2"])

with check("milestones of issues: filters, and none"):
    found = project.issues.list(milestone="group v2")
    same([(each.title, each.milestone["title"]) for each in found], [("group leak", "group v2")])
    same(titles(project.issues.list(milestone_id="Any", order_by="milestone_due", sort="asc")), ["project leak", "group leak"])
    issue = found[0]
    issue.milestone_id = 0
    issue.save()
    same(issue.milestone, None)
    same(titles(project.issues.list(milestone="None")), ["group leak"])

with check("milestones: promote() and delete()"):
    mine = project.milestones.list()[0]
    mine.promote()
    same(sorted(titles(group.milestones.list())), ["group v2", "project v2"])
    refused(GitlabPromoteError, 404, mine.promote, "404 Milestone Not Found")
    group.milestones.delete(mine.id)
    refused(GitlabDeleteError, 404, lambda: group.milestones.delete(mine.id), "404 Milestone Not Found")

with check("milestones: hidden from others"):
    refused(GitlabGetError, 404, lambda: mates.projects.get(project.id, lazy=True).milestones.get(1), "404 Project Not Found")

end()
