"""What python-gitlab 3.12 does with addresses of before: it follows 301 for a GET and 308 for every write."""
import io

import requests
from gitlab.const import AccessLevel
from gitlab.exceptions import GitlabGetError, GitlabUpdateError
from python_support import TOKEN, URL, check, client, end, person, png, refused, same

gl = client()
mate = gl.users.create(person("python-mover"))
mates = client(mate.personal_access_tokens.create({"name": "mover", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Moves", "path": "python-moves"})
project = gl.projects.create({"name": "Boat", "namespace_id": group.id})
OLD = "python-moves/boat"
gl.projects.update(project.id, {"path": "ship"})
# Nothing is fetched for it, so every call of it goes by the old address.
lazy = gl.projects.get(OLD, lazy=True)

def told(method, path):
    """What the server answers to a request that is not led on."""
    address = f"{URL}/api/v4/{path}"
    answer = requests.request(method, address, headers={"PRIVATE-TOKEN": TOKEN}, allow_redirects=False, timeout=30)
    return answer.status_code, answer.headers.get("Location")

with check("moved project: the server says 301 to reads, 308 to writes, with the id"):
    by_id = f"{URL}/api/v4/projects/{project.id}"
    same([told(verb, "projects/python-moves%2Fboat") for verb in ("GET", "HEAD")], [(301, by_id)] * 2)
    same([told(verb, "projects/python-moves%2Fboat") for verb in ("PUT", "DELETE")], [(308, by_id)] * 2)
    same(told("POST", "projects/Python-Moves%2FBOAT/star"), (308, f"{by_id}/star"))

with check("moved project: get() follows to where it is"):
    found = gl.projects.get(OLD)
    same((found.id, found.path_with_namespace), (project.id, "python-moves/ship"))
    found = gl.http_request("get", "/projects/python-moves%2Fboat")
    same([answer.status_code for answer in found.history], [301])

with check("moved project: update() arrives, method and body kept, without a RedirectError"):
    answer = gl.http_request("put", "/projects/python-moves%2Fboat", post_data={"description": "By the old address"})
    same([(each.status_code, each.request.method) for each in answer.history], [(308, "PUT")])
    same(answer.request.method, "PUT")
    same(gl.projects.get(project.id).description, "By the old address")
    gl.projects.update(OLD, {"topics": ["one", "two"], "lfs_enabled": False})
    again = gl.projects.get(project.id)
    same((again.topics, again.lfs_enabled), (["one", "two"], False))

# The client has read the file to its end by then and sends nothing where it promised a body.
with check("moved project: a file in update() is not sent again, which the client waits for until it fails"):
    hasty = client()
    hasty.timeout = 1
    fields = {"avatar": io.BytesIO(png(9, 9, 9)), "description": "With a file"}
    try:
        hasty.projects.update(OLD, fields)
        raise AssertionError("the file seems to have arrived")
    except requests.exceptions.ReadTimeout:
        pass
    again = gl.projects.get(project.id)
    same((again.avatar_url, again.description), (None, "By the old address"))

with check("moved project: members are added, changed and removed"):
    lazy.members.create({"user_id": mate.id, "access_level": AccessLevel.REPORTER})
    same(project.members.get(mate.id).access_level, 20)
    lazy.members.update(mate.id, {"access_level": AccessLevel.MAINTAINER})
    same(project.members.get(mate.id).access_level, 40)
    same(lazy.members.get(mate.id).access_level, 40)
    lazy.members.delete(mate.id)
    refused(GitlabGetError, 404, lambda: project.members.get(mate.id))

with check("moved project: archive() and unarchive() arrive"):
    lazy.archive()
    same(gl.projects.get(project.id).archived, True)
    lazy.unarchive()
    same(gl.projects.get(project.id).archived, False)

with check("moved project: lists go on by the id, page after page"):
    project.members.create({"user_id": mate.id, "access_level": AccessLevel.DEVELOPER})
    found = lazy.members_all.list(per_page=1, get_all=True)
    same({each.username for each in found}, {"root", "python-mover"})

with check("moved project: sudo goes along with a write"):
    lazy.star(sudo="python-mover")
    same([each.id for each in mate.starred_projects.list()], [project.id])

with check("moved project: who may not see it is led nowhere, who may not write is refused there"):
    project.members.delete(mate.id)
    refused(GitlabGetError, 404, lambda: mates.projects.get(OLD), "404 Project Not Found")
    refused(GitlabUpdateError, 404, lambda: mates.projects.update(OLD, {"name": "x"}), "404 Project Not Found")
    project.members.create({"user_id": mate.id, "access_level": AccessLevel.GUEST})
    same(mates.projects.get(OLD).id, project.id)
    refused(GitlabUpdateError, 403, lambda: mates.projects.update(OLD, {"name": "x"}), "403 Forbidden")

with check("renamed group: it and the project in it are read and written by their old addresses"):
    gl.groups.update(group.id, {"path": "python-moved"})
    same(gl.groups.get("python-moves").full_path, "python-moved")
    gl.groups.update("python-moves", {"description": "Renamed"})
    same(gl.groups.get(group.id).description, "Renamed")
    for old in ("python-moves/ship", OLD):
        same(gl.projects.get(old).path_with_namespace, "python-moved/ship")
        gl.projects.update(old, {"description": f"Was {old}"})
        same(gl.projects.get(project.id).description, f"Was {old}")

with check("moved group and project: transfers lead on too"):
    home = gl.groups.create({"name": "Home", "path": "python-home"})
    project.transfer(home.id)
    gl.projects.update("python-moved/ship", {"description": "At home"})
    same(gl.projects.get(OLD).path_with_namespace, "python-home/ship")
    group.transfer(home.id)
    gl.groups.update("python-moved", {"description": "At home too"})
    same(gl.groups.get("python-moves").full_path, "python-home/python-moved")
    same((gl.projects.get(project.id).description, gl.groups.get(group.id).description), ("At home", "At home too"))

with check("a new project at an old address is the one that is meant"):
    newcomer = gl.projects.create({"name": "Ship", "namespace_id": gl.groups.get("python-home/python-moved").id})
    gl.groups.update(group.id, {"path": "python-again"})
    same(gl.projects.get("python-home/python-again/ship").id, newcomer.id)
    gl.projects.update("python-home/python-moved/ship", {"description": "Newcomer"})
    same(gl.projects.get(newcomer.id).description, "Newcomer")
    same(gl.projects.get(project.id).description, "At home")

end()
