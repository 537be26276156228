"""Wikis of projects and groups with python-gitlab 3.12, and git itself."""
from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError
from python_support import URL, check, client, end, push_file, refused, same

gl = client()
group = gl.groups.create({"name": "Python Wikis", "path": "python-wikis"})
project = gl.projects.create({"name": "Python Pages"})

def slugs(rows):
    return [each.slug for each in rows]

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

    with check(f"wiki of a {kind}: git clones and pushes"):
        push_file(f"{URL}/{path}.wiki.git", "knots.md", "Bowline")
        same(place.wikis.get("knots").content, "Bowline")

end()
