"""Labels with python-gitlab 3.12, which changes them by PUT without an id."""
from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError, GitlabPromoteError, GitlabUpdateError
from python_support import check, client, end, person, refused, same

gl = client()
mate = gl.users.create(person("python-stamp"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Stamps", "path": "python-stamps"})
project = gl.projects.create({"name": "Python Ink", "namespace_id": group.id})

def names(labels):
    return [each.name for each in labels]

for kind, place in (("project", project), ("group", group)):
    with check(f"labels of a {kind}: create()"):
        made = place.labels.create({"name": f"{kind} bug", "color": "#8899aa", "description": "Flaws"})
        same((made.name, made.color, made.text_color, made.description), (f"{kind} bug", "#8899aa", "#1F1E24", "Flaws"))
        same((made.archived, made.is_project_label, made.priority), (False, kind == "project", None))
        refused(GitlabCreateError, 409, lambda: place.labels.create({"name": made.name, "color": "red"}), "Label already exists")
        refused(GitlabCreateError, 400, lambda: place.labels.create({"name": "x", "color": "reddish"}), "must be a valid color")
        refused(GitlabCreateError, 400, lambda: place.labels.create({"name": "a,b", "color": "red"}), "must not contain a comma")

    with check(f"labels of a {kind}: get() by name and id, and list()"):
        same(place.labels.get(f"{kind} bug").id, made.id)
        same(place.labels.get(made.id).name, f"{kind} bug")
        same(names(place.labels.list()), [f"{kind} bug"])
        refused(GitlabGetError, 404, lambda: place.labels.get("missing"), "404 Label Not Found")

    with check(f"labels of a {kind}: save() and update() without an id"):
        made.new_name = f"{kind} flaw/1.0"
        made.color = "tomato"
        made.save()
        same((made.id, made.name, made.color), (place.labels.get(made.id).id, f"{kind} flaw/1.0", "#ff6347"))
        changed = place.labels.update(f"{kind} flaw/1.0", {"description": "Cracks"})
        same((changed["id"], changed["description"]), (made.id, "Cracks"))
        refused(GitlabUpdateError, 404, lambda: place.labels.update("missing", {"color": "red"}), "404 Label Not Found")
        refused(GitlabUpdateError, 400, lambda: place.labels.update(f"{kind} flaw/1.0"), "at least one parameter must be provided")

    with check(f"labels of a {kind}: delete() by a name with a slash"):
        place.labels.get(f"{kind} flaw/1.0").delete()
        refused(GitlabDeleteError, 404, lambda: place.labels.delete(f"{kind} flaw/1.0"), "404 Label Not Found")
        same(place.labels.list(), [])

with check("labels: a project has those of its group, and counts"):
    group.labels.create({"name": "above", "color": "#336699"})
    project.labels.create({"name": "own", "color": "#336699", "priority": 3})
    project.issues.create({"title": "Blot", "labels": "own,above"})
    same(names(project.labels.list(iterator=True, per_page=1)), ["above", "own"])
    same(names(project.labels.list(include_ancestor_groups=False)), ["own"])
    same(names(project.labels.list(search="OW")), ["own"])
    counted = project.labels.list(with_counts=True)
    same([(each.open_issues_count, each.closed_issues_count, each.priority) for each in counted], [(1, 0, None), (1, 0, 3)])

with check("labels: promote()"):
    promoted = project.labels.get("own").promote()
    same((promoted["name"], promoted["is_project_label"]), ("own", False))
    same(names(group.labels.list()), ["above", "own"])
    refused(GitlabPromoteError, 404, lambda: project.labels.get("above").promote(), "404 Label Not Found")

with check("labels: hidden from others"):
    refused(GitlabGetError, 404, lambda: mates.projects.get(project.id, lazy=True).labels.get("own"), "404 Project Not Found")

end()
