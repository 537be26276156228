"""Snippets of people and projects with python-gitlab 3.12, and git itself."""
from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError, GitlabUpdateError
from python_support import PER_PAGE, check, client, end, person, push_file, refused, same

gl = client()
mate = gl.users.create(person("python-hitch"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
project = gl.projects.create({"name": "Python Knots"})
FILE = {"title": "Bowline", "file_name": "bowline.md", "content": "Up the hole\n"}

def ids(rows):
    return [each.id for each in rows]

for kind, manager in (("personal", gl.snippets), ("project", project.snippets)):
    with check(f"{kind} snippets: create(), get(), content() and list()"):
        made = manager.create({**FILE, "visibility": "public"})
        same((made.title, made.file_name, made.visibility), ("Bowline", "bowline.md", "public"))
        same(made.project_id, project.id if kind == "project" else None)
        same(manager.get(made.id).content(), b"Up the hole\n")
        older = manager.create({**FILE, "visibility": "private"})
        same(ids(manager.list(per_page=PER_PAGE))[:2], [older.id, made.id])
        same(set(ids(manager.list(iterator=True, per_page=1))) >= {older.id, made.id}, True)
        refused(GitlabCreateError, 400, lambda: manager.create({**FILE, "title": "", "visibility": "public"}), "title")
        refused(GitlabGetError, 404, lambda: manager.get(0), "404 Snippet Not Found")

    with check(f"{kind} snippets: save() changes title, content and visibility"):
        made.title = "Hitches"
        made.content = "Twice around\n"
        made.visibility = "private"
        made.save()
        fresh = manager.get(made.id)
        same((fresh.title, fresh.visibility, fresh.content()), ("Hitches", "private", b"Twice around\n"))
        manager.update(made.id, {"files": [{"action": "create", "file_path": "b.md", "content": "b"}]})
        same([file["path"] for file in manager.get(made.id).files], ["b.md", "bowline.md"])
        refused(GitlabUpdateError, 400, lambda: manager.update(made.id, {"content": "x"}), "several files")

    with check(f"{kind} snippets: git clones and pushes"):
        push_file(made.http_url_to_repo, "c.md", "c")
        same([file["path"] for file in manager.get(made.id).files], ["b.md", "bowline.md", "c.md"])

    with check(f"{kind} snippets: delete()"):
        made.delete()
        refused(GitlabGetError, 404, lambda: manager.get(made.id))
        refused(GitlabDeleteError, 404, lambda: manager.delete(made.id))

with check("snippets: public(), and what others see and change"):
    open_one = gl.snippets.create({**FILE, "visibility": "public"})
    hidden = gl.snippets.create(FILE)
    same(hidden.visibility, "private")
    same(open_one.id in ids(gl.snippets.public()), True)
    same(mates.snippets.get(open_one.id).title, "Bowline")
    refused(GitlabGetError, 404, lambda: mates.snippets.get(hidden.id), "404 Snippet Not Found")
    refused(GitlabUpdateError, 403, lambda: mates.snippets.update(open_one.id, {"title": "x"}), "not allowed")

end()
