"""Activity events with python-gitlab 3.12."""
from python_support import check, client, end, person, same

gl = client()
mate = gl.users.create(person("python-events"))
token = mate.personal_access_tokens.create({"name": "log", "scopes": ["read_user"]}).token
project = gl.projects.create({"name": "Python Events", "initialize_with_readme": True})
issue = project.issues.create({"title": "Drift"})
issue.notes.create({"body": "By the current"})
issue.state_event = "close"
issue.save()

def said(events):
    return [(each.action_name, each.target_type, each.target_title) for each in events]

with check("events of a project: list() with filters"):
    project.members.create({"user_id": mate.id, "access_level": 30})
    same(said(project.events.list(sort="asc", get_all=True)), [
        ("created", None, None), ("pushed", None, None), ("opened", "Issue", "Drift"),
        ("commented on", "Note", None), ("closed", "Issue", "Drift"), ("joined", None, None),
    ])
    same(said(project.events.list(action="closed")), [("closed", "Issue", "Drift")])
    same(project.events.list(target_type="note")[0].note["body"], "By the current")
    same(project.events.list(action="pushed")[0].push_data["commit_title"], "Initial commit")
    same(project.events.list(target_type="epic"), [])

with check("events of a user: list() by the id"):
    same(said(gl.users.get(mate.id).events.list(action="joined")), [("joined", None, None)])

with check("one's own events, and with scope='all' those of all own projects, with scope read_user"):
    mates = client(token)
    same(said(mates.events.list()), [("joined", None, None)])
    same(len(mates.events.list(scope="all", get_all=True)), 6)
    same([each.author["username"] for each in mates.events.list(scope="all", per_page=1, get_all=False)], [mate.username])

end()
