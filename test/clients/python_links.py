"""Issue links and label events with python-gitlab 3.12, which has no links between epics."""
from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError
from python_support import check, client, end, person, refused, same

gl = client()
mate = gl.users.create(person("python-knot"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Knots", "path": "python-knots"})
project = gl.projects.create({"name": "Python Rope", "namespace_id": group.id})
other = gl.projects.create({"name": "Python Net", "namespace_id": group.id})
first = project.issues.create({"title": "Splice", "labels": "bug"})
second = other.issues.create({"title": "Whip"})

with check("links: create() and list() from both ends"):
    source, target = first.links.create({"target_project_id": other.id, "target_issue_iid": second.iid, "link_type": "blocks"})
    same((source.id, target.id), (first.id, second.id))
    found = first.links.list()
    same([(each.id, each.link_type) for each in found], [(second.id, "blocks")])
    same([each.link_type for each in second.links.list()], ["is_blocked_by"])
    same(project.issues.get(first.iid).blocking_issues_count, 1)

with check("links: what is refused can be read"):
    again = {"target_project_id": project.id, "target_issue_iid": first.iid}
    refused(GitlabCreateError, 409, lambda: second.links.create(again), "Issue(s) already assigned")
    refused(GitlabCreateError, 422, lambda: first.links.create(again), "cannot be related to itself")
    missing = {"target_project_id": other.id, "target_issue_iid": 99}
    refused(GitlabCreateError, 404, lambda: first.links.create(missing), "404 Not found")
    refused(GitlabGetError, 404, lambda: mates.projects.get(project.id), "404 Project Not Found")

with check("links: delete() by the id of the link"):
    link = first.links.list()[0]
    same(link.get_id(), link.issue_link_id)
    link.delete()
    same((first.links.list(), second.links.list()), ([], []))
    refused(GitlabDeleteError, 404, lambda: first.links.delete(link.issue_link_id), "404 Not found")

with check("label events: those of an issue"):
    first.labels = ["urgent"]
    first.save()
    events = first.resourcelabelevents.list()
    same([(each.action, each.label["name"]) for each in events], [("add", "bug"), ("add", "urgent"), ("remove", "bug")])
    same(first.resourcelabelevents.get(events[0].id).resource_id, first.id)

with check("label events: those of an epic by its id"):
    epic = group.epics.create({"title": "Voyage", "labels": "far"})
    events = epic.resourcelabelevents.list()
    same([(each.resource_type, each.resource_id, each.label["name"]) for each in events], [("Epic", epic.id, "far")])
    same(epic.resourcelabelevents.get(events[0].id).action, "add")

end()
