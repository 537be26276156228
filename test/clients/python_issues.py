"""Issues with python-gitlab 3.12."""
from gitlab.exceptions import GitlabCreateError, GitlabGetError, GitlabUpdateError
from python_support import check, client, end, person, refused, same

gl = client()
mate = gl.users.create(person("python-issue"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Leaks", "path": "python-leaks"})
project = gl.projects.create({"name": "Python Hull", "namespace_id": group.id})
other = gl.projects.create({"name": "Python Keel", "namespace_id": group.id})

def titles(issues):
    return [each.title for each in issues]

with check("issues: create() and get()"):
    made = project.issues.create({"title": "Leak", "description": "- [ ] pump", "labels": ["bug", "wet"], "weight": 2,
        "due_date": "2031-01-31", "assignee_ids": [1], "confidential": False})
    same((made.iid, made.state, made.labels, made.weight, made.due_date), (1, "opened", ["bug", "wet"], 2, "2031-01-31"))
    same(project.issues.get(1).attributes, made.attributes)
    same(made.task_completion_status, {"count": 1, "completed_count": 0})
    refused(GitlabGetError, 404, lambda: project.issues.get(99), "404 Not found")
    refused(GitlabCreateError, 400, lambda: project.issues.create({"title": ""}), "title")

with check("issues: list() with filters"):
    project.issues.create({"title": "Rust", "labels": "bug"})
    same(titles(project.issues.list(labels=["bug"], order_by="title", sort="asc")), ["Leak", "Rust"])
    same(titles(project.issues.list(labels=["bug", "wet"])), ["Leak"])
    same(titles(project.issues.list(search="rus", state="opened")), ["Rust"])
    same(titles(project.issues.list(iids=[1])), ["Leak"])
    same(titles(group.issues.list(assignee_id="None")), ["Rust"])
    same(titles(gl.issues.list(scope="created_by_me", labels=["wet"])), ["Leak"])
    same(titles(project.issues.list(iterator=True, per_page=1, sort="asc")), ["Leak", "Rust"])
    same(project.issues.list(with_labels_details=True, iids=[2])[0].labels[0]["name"], "bug")

with check("issues: save() with add_labels, remove_labels and state_event"):
    made.add_labels = ["calm"]
    made.remove_labels = ["wet"]
    made.state_event = "close"
    made.save()
    same((made.labels, made.state), (["bug", "calm"], "closed"))
    same(project.issues.update(1, {"state_event": "reopen"})["state"], "opened")
    refused(GitlabUpdateError, 400, lambda: project.issues.update(1), "at least one parameter must be provided")

with check("issues: statistics and participants()"):
    same(project.issues_statistics.get().statistics["counts"], {"all": 2, "closed": 0, "opened": 2})
    same(group.issues_statistics.get().statistics["counts"]["all"], 2)
    same(len(made.participants()), 1)

with check("issues: reorder() and move()"):
    second = project.issues.get(2)
    second.reorder(move_before_id=made.id)
    same(titles(project.issues.list(order_by="relative_position", sort="asc")), ["Rust", "Leak"])
    second.move(other.id)
    same((second.project_id, second.iid), (other.id, 1))
    same(project.issues.get(2).state, "closed")

with check("issues: hidden from others"):
    refused(GitlabGetError, 404, lambda: mates.projects.get(project.id, lazy=True).issues.get(1), "404 Project Not Found")

with check("issues: delete()"):
    project.issues.delete(1)
    refused(GitlabGetError, 404, lambda: project.issues.get(1), "404 Not found")

end()
