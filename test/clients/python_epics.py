"""Epics of groups with python-gitlab 3.12."""
from gitlab.exceptions import GitlabCreateError, GitlabGetError, GitlabUpdateError
from python_support import check, client, end, person, refused, same

gl = client()
mate = gl.users.create(person("python-pilot"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Bridge", "path": "python-bridge"})
project = gl.projects.create({"name": "Python Wheel", "namespace_id": group.id})

def titles(epics):
    return [each.title for each in epics]

with check("epics: create, get"):
    epic = group.epics.create({"title": "Voyage", "labels": ["sea"], "start_date_fixed": "2030-01-02", "start_date_is_fixed": True})
    same((epic.iid, epic.labels, epic.start_date, epic.color), (1, ["sea"], "2030-01-02", "#1068bf"))
    same(group.epics.get(epic.iid).attributes["references"]["full"], "python-bridge&1")
    refused(GitlabGetError, 404, lambda: group.epics.get(99), "404 Not found")
    refused(GitlabCreateError, 400, lambda: group.epics.create({"title": ""}), "title is empty")

with check("epics: save and update"):
    epic = group.epics.get(1)
    epic.title = "Long voyage"
    epic.labels = ["sea", "wind"]
    epic.save()
    same((group.epics.get(1).title, group.epics.get(1).labels), ("Long voyage", ["sea", "wind"]))
    group.epics.update(1, {"state_event": "close"})
    same(group.epics.get(1).state, "closed")
    group.epics.update(1, {"state_event": "reopen"})
    refused(GitlabUpdateError, 400, lambda: group.epics.update(1, {"color": "reddish"}), "must be a valid color code")

with check("epics: list with filters, orders and pages"):
    parent = group.epics.get(1)
    group.epics.create({"title": "Leg", "parent_id": parent.id})
    same(titles(group.epics.list(order_by="title", sort="asc")), ["Leg", "Long voyage"])
    same(titles(group.epics.list(labels=["sea"])), ["Long voyage"])
    same(titles(group.epics.list(iterator=True, per_page=1)), ["Leg", "Long voyage"])

with check("epics: issues added, moved and removed"):
    epic = group.epics.get(1)
    issue = project.issues.create({"title": "Caulk"})
    other = project.issues.create({"title": "Sew"})
    first = epic.issues.create({"issue_id": issue.id})
    second = epic.issues.create({"issue_id": other.id})
    same((first.epic["iid"], first.issue["iid"]), (1, issue.iid))
    same(titles(epic.issues.list()), ["Caulk", "Sew"])
    link = epic.issues.list()[0]
    link.move_before_id = second.id
    link.save()
    same(titles(epic.issues.list()), ["Sew", "Caulk"])
    epic.issues.delete(first.id)
    same(titles(epic.issues.list()), ["Sew"])

with check("epics: hidden from others, and deleted"):
    refused(GitlabGetError, 404, lambda: mates.groups.get(group.id, lazy=True).epics.get(1), "404 Group Not Found")
    group.epics.delete(1)
    refused(GitlabGetError, 404, lambda: group.epics.get(1), "404 Not found")

end()
