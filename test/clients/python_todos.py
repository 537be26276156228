"""Rendering Markdown with python-gitlab 3.12."""
from gitlab.exceptions import GitlabMarkdownError
from python_support import check, client, end, person, refused, same

gl = client()
mate = gl.users.create(person("python-hand"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Hands", "path": "python-hands"})
project = gl.projects.create({"name": "Python Deck", "namespace_id": group.id})
issue = project.issues.create({"title": "Scrub"})

with check("markdown: rendered as HTML that is safe"):
    same(gl.markdown("**Hello**<img src=x onerror=run()>"), '<p><strong>Hello</strong><img src="x" /></p>\n')

with check("markdown: references are links for those who may see their target"):
    text = f"#{issue.iid} @python-hand"
    html = gl.markdown(text, gfm=True, project=project.path_with_namespace)
    same((issue.web_url in html, mate.web_url in html), (True, True))
    same("href" in gl.markdown(text), False)
    full = f"{project.path_with_namespace}#{issue.iid}"
    same("href" in mates.markdown(full, gfm=True), False)
    hidden = lambda: mates.markdown(text, gfm=True, project=project.path_with_namespace)
    refused(GitlabMarkdownError, 404, hidden, "404 Project Not Found")

end()
