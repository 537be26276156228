"""To-dos and rendering Markdown with python-gitlab 3.12, which cannot mark an epic."""
from gitlab.exceptions import GitlabMarkdownError, GitlabTodoError
from python_support import check, client, end, person, refused, same

gl = client()
mate = gl.users.create(person("python-deckhand"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Hands", "path": "python-hands"})
project = gl.projects.create({"name": "Python Deck", "namespace_id": group.id})
issue = project.issues.create({"title": "Scrub"})

with check("markdown: rendered as HTML that is safe"):
    same(gl.markdown("**Hello**<img src=x onerror=run()>"), '<p><strong>Hello</strong><img src="x" /></p>\n')

with check("markdown: references are links for those who may see their target"):
    text = f"#{issue.iid} @python-deckhand"
    html = gl.markdown(text, gfm=True, project=project.path_with_namespace)
    same((issue.web_url in html, mate.web_url in html), (True, True))
    same("href" in gl.markdown(text), False)
    full = f"{project.path_with_namespace}#{issue.iid}"
    same("href" in mates.markdown(full, gfm=True), False)
    hidden = lambda: mates.markdown(text, gfm=True, project=project.path_with_namespace)
    refused(GitlabMarkdownError, 404, hidden, "404 Project Not Found")

with check("todos: whoever is assigned or mentioned has one"):
    group.members.create({"user_id": mate.id, "access_level": 30})
    assigned = project.issues.create({"title": "Paint", "assignee_ids": [mate.id]})
    mentioned = group.epics.create({"title": "Refit", "description": "With @python-deckhand"})
    found = mates.todos.list()
    same([(each.action_name, each.target_type, each.target["id"]) for each in found],
         [("mentioned", "Epic", mentioned.id), ("assigned", "Issue", assigned.id)])
    same(found[1].target_url, assigned.web_url)
    same([each.body for each in mates.todos.list(action="assigned", project_id=project.id)], ["Paint"])

with check("todos: mark_as_done() and mark_all_as_done()"):
    todo = mates.todos.list()[0]
    todo.mark_as_done()
    same(todo.state, "done")
    same([each.id for each in mates.todos.list(state="done")], [todo.id])
    mates.todos.mark_all_as_done()
    same(mates.todos.list(), [])

with check("todos: one's own of an issue, once"):
    own = mates.projects.get(project.id).issues.get(issue.iid)
    own.todo()
    same([(each.action_name, each.target["iid"]) for each in mates.todos.list()], [("marked", issue.iid)])
    refused(GitlabTodoError, 304, own.todo)

end()
