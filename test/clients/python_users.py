"""python-gitlab 3.12 against a running server, called the way its documentation shows."""
import datetime
import io
import warnings

import gitlab
import requests
from gitlab.exceptions import GitlabAuthenticationError, GitlabCreateError, GitlabGetError, GitlabHttpError
from gitlab.exceptions import GitlabListError, GitlabUpdateError
from python_support import PER_PAGE, TOKEN, URL, check, client, end, png, refused, same

PEOPLE = 12

def person(number):
    username = f"python-{number:02}"
    options = {"force_random_password": True, "skip_confirmation": True}
    return {"username": username, "name": f"Pythonist Number{number:02}", "email": f"{username}@example.com", **options}

def user_of(token):
    signed_in = client(token)
    signed_in.auth()
    return signed_in.user

gl = client()
people = []
in_30_days = (datetime.date.today() + datetime.timedelta(days=30)).isoformat()

with check("sign-in: auth() finds the administrator"):
    gl.auth()
    same((gl.user.id, gl.user.username, gl.user.is_admin), (1, "root", True))
    same(gl.user.web_url, f"{URL}/root")

with check("sign-in: the same token as oauth_token"):
    same(gitlab.Gitlab(URL, oauth_token=TOKEN).http_get("/user")["id"], 1)

with check("sign-in: a wrong token is an authentication error"):
    refused(GitlabAuthenticationError, 401, client("flpat-wrong").auth, "401 Unauthorized")
    refused(GitlabAuthenticationError, 401, gitlab.Gitlab(URL, oauth_token="flpat-wrong").auth)
    refused(GitlabAuthenticationError, 401, gitlab.Gitlab(URL).auth)

with check("version: version() and /metadata agree"):
    version, revision = gl.version()
    same(version, "18.2.0")
    metadata = gl.http_get("/metadata")
    same((metadata["version"], metadata["revision"]), (version, revision))

with check("create: users.create() answers the whole user"):
    for number in range(1, PEOPLE + 1):
        people.append(gl.users.create(person(number)))
    first = people[0]
    same((first.username, first.name, first.email), ("python-01", "Pythonist Number01", "python-01@example.com"))
    same((first.state, first.is_admin, first.bio), ("active", False, ""))
    same((first.created_by["username"], len({user.id for user in people})), ("root", PEOPLE))

with check("create: an avatar makes it multipart, with booleans as 1 and 0"):
    avatar = png(200, 0, 0)
    fields = {**person(90), "name": "Multipart 90", "external": True, "admin": False, "avatar": io.BytesIO(avatar)}
    user = gl.users.create(fields)
    same((user.external, user.is_admin, user.name), (True, False, "Multipart 90"))
    same(requests.get(user.avatar_url, timeout=30).content, avatar)

with check("create: a taken username or email is a conflict"):
    for field, taken in (("email", "python-01@example.com"), ("username", "Python-01")):
        fields = {**person(91), field: taken}
        refused(GitlabCreateError, 409, lambda: gl.users.create(fields), f"{field.title()} has already been taken")

with check("create: parameter and validation errors can be read"):
    refused(GitlabCreateError, 400, lambda: gl.users.create({"email": "x@example.com"}), "username is missing")
    weak = {**person(91), "password": "short"}
    del weak["force_random_password"]
    refused(GitlabCreateError, 400, lambda: gl.users.create(weak), "is too short (minimum is 8 characters)")

with check("get: users.get() and the 404 of an unknown id"):
    user = gl.users.get(people[0].id)
    same((user.username, user.email, user.namespace_id > 0), ("python-01", "python-01@example.com", True))
    refused(GitlabGetError, 404, lambda: gl.users.get(999999999), "404 User Not Found")

with check("list by offset: one page, as many as asked for"):
    sizes = [len(gl.users.list(search="Pythonist", page=page, per_page=PER_PAGE)) for page in (2, 3, 9)]
    same(sizes, [PER_PAGE, 2, 0])

with check("list by offset: the iterator follows every page and knows the totals"):
    found = gl.users.list(search="Pythonist", order_by="id", sort="asc", per_page=PER_PAGE, iterator=True)
    same((found.current_page, found.prev_page, found.next_page), (1, None, 2))
    same((found.per_page, found.total, found.total_pages), (PER_PAGE, PEOPLE, 3))
    same([user.id for user in found], [user.id for user in people])
    same((found.current_page, found.prev_page, found.next_page), (3, 2, None))

with check("list by offset: get_all=True, and the warning without it"):
    found = gl.users.list(search="Pythonist", per_page=PER_PAGE, get_all=True)
    same(sorted(user.id for user in found), sorted(user.id for user in people))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gl.users.list(search="Pythonist", per_page=PER_PAGE)
    same(f"{PER_PAGE} of {PEOPLE} items" in str(said[0].message), True)

with check("list by offset: users.head() has the paging headers"):
    headers = gl.users.head(search="Pythonist", per_page=PER_PAGE)
    same((headers["X-Total"], headers["X-Per-Page"], headers["X-Prev-Page"]), (str(PEOPLE), str(PER_PAGE), ""))

with check("list by keyset: a keyset client sees every row once"):
    everybody = sorted(user.id for user in gl.users.list(get_all=True))
    keyset = client(TOKEN, pagination="keyset", order_by="id", per_page=PER_PAGE)
    found = keyset.users.list(iterator=True)
    same(found.total, None)
    same([user.id for user in found], everybody[::-1])

with check("list by keyset: other orders, with a filter, and without order_by"):
    ids = [user.id for user in people]
    for options in ({"order_by": "name", "sort": "asc"}, {"order_by": "created_at", "sort": "asc"}):
        found = gl.users.list(pagination="keyset", per_page=PER_PAGE, search="Pythonist", get_all=True, **options)
        same([user.id for user in found], ids)
    found = gl.users.list(pagination="keyset", per_page=PER_PAGE, iterator=True)
    same(len([user for user in found if user.id in ids]), PEOPLE)

with check("search: by words of the name, by username, by email"):
    for words in ("pythonist number07", "python-07", "python-07@example.com"):
        same([user.username for user in gl.users.list(search=words)], ["python-07"])
    same([user.username for user in gl.users.list(username="PYTHON-07")], ["python-07"])
    same(gl.users.list(search="nobody at all"), [])

with check("filters: booleans arrive as True and False"):
    blocked = {user.username for user in gl.users.list(blocked=True, get_all=True)}
    active = {user.username for user in gl.users.list(active=True, get_all=True)}
    same(("fixture-blocked" in blocked, "python-01" in blocked), (True, False))
    same(("fixture-blocked" in active, "python-01" in active), (False, True))
    both = {user.username for user in gl.users.list(active=False, get_all=True)}
    same({"fixture-blocked", "python-01"} <= both, True)
    same(len(gl.users.list(external=True, username="python-90")), 1)
    same(len(gl.users.list(exclude_external=True, username="python-90")), 0)
    same(gl.users.list(two_factor="enabled"), [])

with check("filters: boolean forms 1, 0, true and True, and a list error for others"):
    for value in (1, "1", "true", "True"):
        same(len(gl.users.list(username="python-90", external=value)), 1)
        same(len(gl.users.list(username="python-01", external=value)), 0)
    same(len(gl.users.list(username="python-01", external="0")), 1)
    refused(GitlabListError, 400, lambda: gl.users.list(external="perhaps"), "external is invalid")
    refused(GitlabListError, 400, lambda: gl.users.list(order_by="shoe_size"), "order_by does not have a valid value")

with check("filters: extern_uid with provider"):
    identity = {"extern_uid": "python-uid-92", "provider": "github"}
    user = gl.users.create({**person(92), "name": "Identity 92", **identity})
    same([found.id for found in gl.users.list(**identity)], [user.id])
    same(user.identities[0]["provider"], "github")
    refused(GitlabListError, 400, lambda: gl.users.list(provider="github"))

with check("filters: custom_attributes as a dict"):
    found = gl.users.list(custom_attributes={"desk": "window"})
    same([user.username for user in found], ["fixture-window"])
    same(gl.users.list(custom_attributes={"desk": "roof"}), [])
    found = gl.users.list(username="fixture-door", with_custom_attributes=True)
    same(found[0].custom_attributes, [{"key": "desk", "value": "door"}])

with check("save: user.save() sends the unchanged email along"):
    user = gl.users.get(people[1].id)
    user.bio, user.can_create_group, user.projects_limit = "Writes snakes", False, 7
    user.save()
    again = gl.users.get(user.id)
    same((again.bio, again.can_create_group, again.projects_limit), ("Writes snakes", False, 7))
    same((again.email, again.username), (people[1].email, people[1].username))

with check("save: works on an object of a list as well"):
    user = gl.users.list(username="python-03")[0]
    user.location = "Porto"
    same((user.save()["location"], gl.users.get(user.id).location), ("Porto", "Porto"))

with check("save: a taken username is a conflict, an unknown user a 404"):
    user = gl.users.get(people[1].id)
    user.username = "python-01"
    refused(GitlabUpdateError, 409, user.save, "Username has already been taken")
    ghost = {"email": "x@example.com", "username": "x", "name": "x"}
    refused(GitlabUpdateError, 404, lambda: gl.users.update(999999999, ghost), "404 User Not Found")

with check("avatar: save() uploads it, with booleans as 1 and 0, and it can be fetched"):
    avatar = png(0, 0, 200)
    user = gl.users.get(people[2].id)
    user.avatar, user.private_profile, user.can_create_group = io.BytesIO(avatar), True, False
    user.save()
    same((user.private_profile, user.can_create_group), (True, False))
    same(user.avatar_url.startswith(f"{URL}/uploads/-/system/user/avatar/{user.id}/"), True)
    answer = requests.get(user.avatar_url, timeout=30)
    same((answer.status_code, answer.headers["Content-Type"]), (200, "image/png"))
    same(answer.content, avatar)

with check("avatar: what is not an image is refused"):
    user.avatar = io.BytesIO(b"just words")
    refused(GitlabUpdateError, 400, user.save)

with check("tokens: an administrator makes one for a user, who signs in with it"):
    fields = {"name": "python", "scopes": ["api", "read_user"], "expires_at": in_30_days}
    token = people[0].personal_access_tokens.create(fields)
    same((token.scopes, token.expires_at, token.active), (["api", "read_user"], in_30_days, True))
    user = user_of(token.token)
    same((user.username, hasattr(user, "is_admin")), ("python-01", False))

with check("tokens: list of one user, never with the secret"):
    found = gl.personal_access_tokens.list(user_id=people[0].id)
    same([(each.id, each.name, each.user_id) for each in found], [(token.id, "python", people[0].id)])
    same(hasattr(found[0], "token"), False)
    same([each.id for each in client(token.token).personal_access_tokens.list()], [token.id])

with check("tokens: get by id and self"):
    by_id = gl.http_get(f"/personal_access_tokens/{token.id}")
    itself = client(token.token).http_get("/personal_access_tokens/self")
    same((by_id["id"], itself["id"], itself["revoked"]), (token.id, token.id, False))
    refused(GitlabHttpError, 404, lambda: gl.http_get("/personal_access_tokens/999999999"))

with check("tokens: a user makes one of a narrow scope, and only of that"):
    user = client(token.token)
    fields = {"name": "cluster", "scopes": ["k8s_proxy"], "expires_at": in_30_days}
    narrow = user.http_post("/user/personal_access_tokens", post_data=fields)
    same(narrow["scopes"], ["k8s_proxy"])
    refused(GitlabGetError, 403, client(narrow["token"]).auth, "insufficient_scope")
    fields["scopes"] = ["api"]
    refused(GitlabHttpError, 400, lambda: user.http_post("/user/personal_access_tokens", post_data=fields))

with check("tokens: rotate gives a new secret and ends the old one"):
    rotated = gl.http_post(f"/personal_access_tokens/{token.id}/rotate", post_data={"expires_at": in_30_days})
    same((rotated["id"] != token.id, rotated["token"] != token.token), (True, True))
    same((rotated["scopes"], rotated["expires_at"]), (token.scopes, in_30_days))
    refused(GitlabAuthenticationError, 401, client(token.token).auth)
    same(user_of(rotated["token"]).id, people[0].id)

with check("tokens: a self_rotate token rotates itself"):
    fields = {"name": "turning", "scopes": ["self_rotate"]}
    turning = client(rotated["token"]).http_post("/user/personal_access_tokens", post_data=fields)
    turned = client(turning["token"]).http_post("/personal_access_tokens/self/rotate")
    same((turned["name"], turned["scopes"]), ("turning", ["self_rotate"]))
    refused(GitlabAuthenticationError, 401, client(turning["token"]).auth)

with check("tokens: delete() revokes, also the token itself, and it is refused"):
    gl.personal_access_tokens.delete(rotated["id"])
    refused(GitlabAuthenticationError, 401, client(rotated["token"]).auth)
    same(gl.http_get(f"/personal_access_tokens/{rotated['id']}")["revoked"], True)
    leaving = people[0].personal_access_tokens.create({"name": "leaving", "scopes": ["api"]})
    client(leaving.token).http_delete("/personal_access_tokens/self")
    refused(GitlabAuthenticationError, 401, client(leaving.token).auth)

with check("sudo: by username and by id, with the rights of that user"):
    for value in ("python-04", people[3].id):
        same(gl.http_get("/user", sudo=value)["id"], people[3].id)
    listed = gl.users.list(username="python-01", sudo="python-04")[0]
    same((listed.username, hasattr(listed, "email")), ("python-01", False))
    refused(GitlabCreateError, 403, lambda: gl.users.create(person(93), sudo="python-04"), "403 Forbidden")

with check("sudo: an unknown user is a 404, a caller who is no administrator a 403"):
    refused(GitlabHttpError, 404, lambda: gl.http_get("/user", sudo="nobody-at-all"))
    plain = people[0].personal_access_tokens.create({"name": "plain", "scopes": ["api"]})
    refused(GitlabHttpError, 403, lambda: client(plain.token).http_get("/user", sudo="python-04"))

end()
