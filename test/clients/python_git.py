"""Deploy keys and repositories with python-gitlab 3.12, and git itself over HTTP."""
import base64
import io
import os
import pathlib
import subprocess
import tarfile
import tempfile

from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError, GitlabProjectDeployKeyError
from python_support import TOKEN, URL, check, client, end, person, refused, same

NOWHERE = 999999999
gl = client()
mate = gl.users.create(person("python-keeper"))
mates_token = mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token
mates = client(mates_token)
hull = gl.projects.create({"name": "Python Keys"})
mast = gl.projects.create({"name": "Python Mast"})
own = mates.projects.create({"name": "Python Own"})

def ids(found):
    return [each.id for each in found]

def new_key(comment):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path], check=True)
        return path.with_suffix(".pub").read_text()

def git(*arguments, folder=None):
    config = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
    who = [("user.name", "Python"), ("user.email", "python@example.com"), ("init.defaultBranch", "main")]
    options = [part for name, value in who for part in ("-c", f"{name}={value}")]
    command = ["git", *options, *arguments]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **config}, capture_output=True, text=True, timeout=60)
    return done.returncode, (done.stdout + done.stderr).strip()

def address(project, token):
    return f"{URL.replace('://', f'://oauth2:{token}@')}/{project.path_with_namespace}.git"

line = new_key("hull@python")
key = None

with check("deploy keys: create(), and the key comes back as it was but for the newline"):
    key = hull.keys.create({"title": "Hull", "key": line, "can_push": True})
    same((key.title, key.key, key.can_push), ("Hull", line.strip(), True))
    same((key.fingerprint_sha256[:7], len(key.fingerprint)), ("SHA256:", 47))

with check("deploy keys: list(), get() and what is not there"):
    same(ids(hull.keys.list()), [key.id])
    same(hull.keys.get(key.id).attributes, key.attributes)
    refused(GitlabGetError, 404, lambda: hull.keys.get(NOWHERE), "404 Not found")
    refused(GitlabGetError, 404, lambda: mates.projects.get(hull.id), "404 Project Not Found")

with check("deploy keys: update() and save()"):
    hull.keys.update(key.id, {"title": "Hull 2", "can_push": False})
    same((hull.keys.get(key.id).title, hull.keys.get(key.id).can_push), ("Hull 2", False))
    key.can_push = True
    key.save()
    same(hull.keys.get(key.id).can_push, True)

with check("deploy keys: enable() in another project, and refused where the key cannot be seen"):
    mast.keys.enable(key.id)
    same([(each.id, each.can_push) for each in mast.keys.list()], [(key.id, False)])
    refused(GitlabProjectDeployKeyError, 404, lambda: own.keys.enable(key.id), "404 Deploy key Not Found")
    fields = {"title": "Mine", "key": line}
    refused(GitlabCreateError, 400, lambda: own.keys.create(fields), "has already been taken")
    same(mast.keys.create(fields).id, key.id)

with check("deploy keys: what is no key is refused, and can be read"):
    refused(GitlabCreateError, 400, lambda: hull.keys.create({"title": "x", "key": "no key"}), "is invalid")
    refused(GitlabCreateError, 400, lambda: hull.keys.create({"title": " ", "key": new_key("x")}), "can't be blank")

with check("deploy keys: list() of the instance, of all and of public ones"):
    made = gl.http_post("/deploy_keys", post_data={"title": "Everybody", "key": new_key("all@python")})
    found = {each.id: each for each in gl.deploykeys.list(get_all=True)}
    same([each["id"] for each in found[key.id].projects_with_write_access], [hull.id])
    same([each["id"] for each in found[key.id].projects_with_readonly_access], [mast.id])
    public = ids(gl.deploykeys.list(public=True, get_all=True))
    same((made["id"] in public, key.id in public), (True, False))
    own.keys.enable(made["id"])
    same(ids(own.keys.list()), [made["id"]])

with check("deploy keys: gl.keys.get() finds who added one"):
    same(gl.keys.get(fingerprint=key.fingerprint_sha256).user["username"], "root")
    same(len(gl.keys.get(key.id).deploy_keys_projects), 2)

with check("deploy keys: delete()"):
    mast.keys.delete(key.id)
    same(ids(hull.keys.list()), [key.id])
    key.delete()
    same(hull.keys.list(), [])
    refused(GitlabDeleteError, 404, lambda: hull.keys.delete(key.id), "404 Deploy key Not Found")

with check("git: push and clone over HTTP with a token, and not without"):
    with tempfile.TemporaryDirectory() as folder:
        git("init", "-q", folder)
        pathlib.Path(folder, "docs").mkdir()
        pathlib.Path(folder, "README.md").write_text("# Hull\n")
        pathlib.Path(folder, "docs", "plan.txt").write_text("one\n")
        git("add", ".", folder=folder)
        same(git("commit", "-q", "-m", "First", folder=folder), (0, ""))
        code, told = git("push", "-q", address(hull, TOKEN), "HEAD:refs/heads/main", folder=folder)
        same((code, TOKEN in told), (0, False))
        code, told = git("push", address(hull, mates_token), "HEAD:refs/heads/stolen", folder=folder)
        same((code == 0, "not found" in told.lower()), (False, True))
        code, told = git("clone", "-q", f"{URL}/{hull.path_with_namespace}.git", f"{folder}/x")
        same(code == 0, False)
        same(git("clone", "-q", address(hull, TOKEN), f"{folder}/copy")[0], 0)
        same(pathlib.Path(folder, "copy", "docs", "plan.txt").read_text(), "one\n")

with check("repository: repository_tree(), of a folder, recursive and paged"):
    same([(each["type"], each["path"]) for each in hull.repository_tree()], [("tree", "docs"), ("blob", "README.md")])
    same([each["path"] for each in hull.repository_tree(path="docs", ref="main")], ["docs/plan.txt"])
    same(len(hull.repository_tree(recursive=True, get_all=True)), 3)
    same(len(hull.repository_tree(recursive=True, per_page=1, get_all=True)), 3)
    same(len(hull.repository_tree(recursive=True, per_page=1, pagination="keyset", get_all=True)), 3)

with check("repository: repository_blob() and repository_raw_blob()"):
    sha = hull.repository_tree()[1]["id"]
    same(base64.b64decode(hull.repository_blob(sha)["content"]), b"# Hull\n")
    same(hull.repository_raw_blob(sha), b"# Hull\n")

with check("files: get(), raw(), create(), save() and delete()"):
    readme = hull.files.get("README.md", ref="main")
    same((readme.decode(), readme.file_name), (b"# Hull\n", "README.md"))
    same(hull.files.raw("docs/plan.txt", ref="main"), b"one\n")
    fields = {"branch": "main", "content": "two\n", "commit_message": "Second"}
    made = hull.files.create({"file_path": "docs/next.txt", **fields})
    same((made.file_path, made.branch), ("docs/next.txt", "main"))
    refused(GitlabCreateError, 400, lambda: hull.files.create({"file_path": "docs/next.txt", **fields}))
    readme.content = "# Keel\n"
    readme.save(branch="main", commit_message="Third")
    same(hull.files.raw("README.md", ref="main"), b"# Keel\n")
    hull.files.delete("docs/next.txt", branch="main", commit_message="Fourth")
    refused(GitlabGetError, 404, lambda: hull.files.get("docs/next.txt", ref="main"))

with check("branches: create(), list(), get() and delete()"):
    made = hull.branches.create({"branch": "feature/sail", "ref": "main"})
    same((made.name, made.protected, made.default), ("feature/sail", False, False))
    same(sorted(each.name for each in hull.branches.list()), ["feature/sail", "main"])
    same([each.name for each in hull.branches.list(search="sail")], ["feature/sail"])
    same(hull.branches.get("feature/sail").commit["id"], hull.branches.get("main").commit["id"])
    refused(GitlabCreateError, 400, lambda: hull.branches.create({"branch": "main", "ref": "main"}))
    hull.branches.create({"branch": "gone", "ref": "main"}).delete()
    refused(GitlabGetError, 404, lambda: hull.branches.get("gone"))

with check("tags: create(), list(), get() and delete()"):
    made = hull.tags.create({"tag_name": "v1.0", "ref": "main", "message": "One"})
    same((made.name, made.message), ("v1.0", "One"))
    same([each.name for each in hull.tags.list()], ["v1.0"])
    same(hull.tags.get("v1.0").commit["id"], hull.branches.get("main").commit["id"])
    hull.tags.create({"tag_name": "v0", "ref": "main"}).delete()
    same([each.name for each in hull.tags.list()], ["v1.0"])

with check("commits: create() with several actions, list(), get(), diff(), refs() and what follows of one"):
    actions = [
        {"action": "create", "file_path": "sail.txt", "content": "white\n"},
        {"action": "update", "file_path": "docs/plan.txt", "content": "one\ntwo\n"},
        {"action": "create", "file_path": "flag.bin", "content": "AAEC", "encoding": "base64"},
    ]
    made = hull.commits.create({"branch": "feature/sail", "commit_message": "Sail", "actions": actions})
    same((made.title, len(made.parent_ids)), ("Sail", 1))
    same(hull.commits.get(made.id).stats["total"] > 0, True)
    same([each.title for each in hull.commits.list(ref_name="feature/sail", per_page=2, get_all=False)][0], "Sail")
    same(len(hull.commits.list(ref_name="main", get_all=True)), 4)
    # To the client itself a `path` is the address that it calls.
    of_sail = {"ref_name": "feature/sail", "path": "sail.txt"}
    same([each.id for each in hull.commits.list(query_parameters=of_sail, get_all=True)], [made.id])
    same({each["new_path"] for each in made.diff()}, {"sail.txt", "docs/plan.txt", "flag.bin"})
    same([(each["type"], each["name"]) for each in made.refs()], [("branch", "feature/sail")])
    same(hull.files.raw("flag.bin", ref="feature/sail"), b"\x00\x01\x02")
    made.cherry_pick("main")
    same(hull.files.raw("sail.txt", ref="main"), b"white\n")

with check("repository: repository_compare() and repository_merge_base()"):
    compared = hull.repository_compare("v1.0", "feature/sail")
    same([each["title"] for each in compared["commits"]], ["Sail"])
    same(len(compared["diffs"]), 3)
    same(hull.repository_merge_base(["main", "feature/sail"])["id"], hull.tags.get("v1.0").commit["id"])

with check("repository: repository_archive()"):
    with tarfile.open(fileobj=io.BytesIO(hull.repository_archive(sha="feature/sail"))) as archive:
        names = archive.getnames()
    same(any(name.endswith("/docs/plan.txt") for name in names), True)
    same(hull.repository_archive(format="zip")[:2], b"PK")

end()
