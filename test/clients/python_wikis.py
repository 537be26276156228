"""Wikis of projects and groups with python-gitlab 3.12, and git itself."""
import os
import subprocess
import tempfile

from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError
from python_support import TOKEN, URL, check, client, end, refused, same

gl = client()
group = gl.groups.create({"name": "Python Wikis", "path": "python-wikis"})
project = gl.projects.create({"name": "Python Pages"})

def slugs(rows):
    return [each.slug for each in rows]

def git(*arguments, folder):
    config = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
    who = ["-c", "user.name=Python", "-c", "user.email=python@example.com"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, env={**os.environ, **config}, check=True,
                          capture_output=True, text=True, timeout=60).stdout

for kind, place, path in (("project", project, project.path_with_namespace), ("group", group, group.full_path)):
    with check(f"wiki of a {kind}: create(), get() and list()"):
        same(place.wikis.list(), [])
        made = place.wikis.create({"title": "Home port", "content": "# Welcome"})
        same((made.slug, made.title, made.format), ("Home-port", "Home port", "markdown"))
        same(place.wikis.get("Home-port").content, "# Welcome")
        place.wikis.create({"title": "rope/splices", "content": "= Long", "format": "asciidoc"})
        same(slugs(place.wikis.list()), ["Home-port", "rope/splices"])
        same([page.content for page in place.wikis.list(with_content=True, iterator=True, per_page=1)],
             ["# Welcome", "= Long"])
        same(place.wikis.get("rope/splices").format, "asciidoc")
        refused(GitlabCreateError, 400, lambda: place.wikis.create({"title": "Home port", "content": "x"}), "exists")
        refused(GitlabGetError, 404, lambda: place.wikis.get("nothing"), "404 Wiki page Not Found")

    with check(f"wiki of a {kind}: save() and delete()"):
        made.content = "# Welcome aboard"
        made.save()
        same(place.wikis.get("Home-port").content, "# Welcome aboard")
        place.wikis.delete("rope/splices")
        same(slugs(place.wikis.list()), ["Home-port"])
        refused(GitlabDeleteError, 404, lambda: place.wikis.delete("rope/splices"))

    with check(f"wiki of a {kind}: git clones and pushes"), tempfile.TemporaryDirectory() as folder:
        git("clone", "--quiet", f"{URL.replace('://', f'://oauth2:{TOKEN}@')}/{path}.wiki.git", "copy", folder=folder)
        with open(f"{folder}/copy/knots.md", "w") as file:
            file.write("Bowline")
        git("add", ".", folder=f"{folder}/copy")
        git("commit", "--quiet", "--message", "Knots", folder=f"{folder}/copy")
        git("push", "--quiet", "origin", "main", folder=f"{folder}/copy")
        same(place.wikis.get("knots").content, "Bowline")

end()
