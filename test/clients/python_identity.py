"""python-gitlab 3.12: states, addresses, keys, tokens and service accounts of users."""
import datetime

from gitlab.exceptions import GitlabAuthenticationError, GitlabBlockError, GitlabCreateError, GitlabDeleteError
from gitlab.exceptions import GitlabDeactivateError, GitlabGetError, GitlabHttpError
from python_support import check, client, end, eventually, person, refused, same

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} python@example.com"
in_30_days = (datetime.date.today() + datetime.timedelta(days=30)).isoformat()

gl = client()
gl.auth()
user = gl.users.create(person("python-identity"))
other = gl.users.create(person("python-followed"))
made = user.personal_access_tokens.create({"name": "own", "scopes": ["api"]})
own = client(made.token)
own.auth()

def state(of=user):
    return gl.users.get(of.id).state

with check("states: block and unblock answer true and change the state"):
    same((user.block(), user.state, state()), (True, "blocked", "blocked"))
    refused(GitlabHttpError, 403, lambda: own.http_get("/user"), "blocked")
    same((user.unblock(), state()), (True, "active"))
    same(own.http_get("/user")["id"], user.id)

# Only who was not active lately can be deactivated.
with check("states: deactivate, activate, ban and unban"):
    for act, after in (("deactivate", "deactivated"), ("activate", "active"), ("ban", "banned"), ("unban", "active")):
        same((getattr(other, act)(), state(other)), (True, after))

with check("states: what may not be is refused with its reason"):
    refused(GitlabBlockError, 403, gl.users.get(gl.user.id).block)
    user.block()
    refused(GitlabDeactivateError, 403, user.deactivate, "blocked user cannot be deactivated")
    user.unblock()

with check("addresses: an administrator's are there at once, and can become the primary one"):
    email = user.emails.create({"email": "python-second@example.com", "skip_confirmation": True})
    same([found.email for found in user.emails.list()], ["python-second@example.com"])
    same(user.emails.get(email.id).confirmed_at is not None, True)
    user.email = "python-second@example.com"
    user.save()
    same(gl.users.get(user.id).email, "python-second@example.com")
    refused(GitlabCreateError, 400, lambda: other.emails.create({"email": "python-second@example.com"}), "taken")

with check("addresses: one's own"):
    email = own.user.emails.create({"email": "python-third@example.com"})
    same(own.user.emails.get(email.id).email, "python-third@example.com")
    email.delete()
    same("python-third@example.com" in [found.email for found in own.user.emails.list()], False)

with check("keys: made, read, found by fingerprint and deleted"):
    key = own.user.keys.create({"title": "laptop", "key": KEY.format("A" * 43)})
    same((key.title, key.key), ("laptop", KEY.format("A" * 43)))
    same([found.id for found in own.user.keys.list()], [key.id])
    same(own.user.keys.get(key.id).title, "laptop")
    same([found.id for found in gl.users.get(user.id).keys.list()], [key.id])
    same((gl.keys.get(key.id).user["username"], gl.keys.get(key.id).title), ("python-identity", "laptop"))
    refused(GitlabCreateError, 400, lambda: gl.user.keys.create({"title": "x", "key": KEY.format("A" * 43)}), "taken")
    refused(GitlabCreateError, 400, lambda: own.user.keys.create({"title": "x", "key": "ssh-dss AAAA"}))
    theirs = other.keys.create({"title": "given", "key": KEY.format("B" * 43)})
    other.keys.delete(theirs.id)
    key.delete()
    same(own.user.keys.list(), [])

with check("impersonation tokens: act as the user and are seen by administrators alone"):
    token = user.impersonationtokens.create({"name": "support", "scopes": ["api"], "expires_at": in_30_days})
    same((token.impersonation, token.active), (True, True))
    same(client(token.token).http_get("/user")["username"], "python-identity")
    same([found.id for found in user.impersonationtokens.list(state="active")], [token.id])
    same(token.id in [found.id for found in own.personal_access_tokens.list()], False)
    user.impersonationtokens.delete(token.id)
    refused(GitlabAuthenticationError, 401, lambda: client(token.token).http_get("/user"))

with check("custom attributes: set, read, listed and deleted"):
    user.customattributes.set("desk", "window")
    same(user.customattributes.get("desk").value, "window")
    same([(found.key, found.value) for found in user.customattributes.list()], [("desk", "window")])
    user.customattributes.delete("desk")
    refused(GitlabGetError, 404, lambda: user.customattributes.get("desk"))

with check("status: one's own is seen by others"):
    status = own.user.status.get()
    status.message, status.emoji = "at the mast", "anchor"
    status.save()
    same((user.status.get().message, user.status.get().emoji), ("at the mast", "anchor"))

with check("follow and unfollow"):
    same(own.users.get(other.id).follow()["username"], "python-followed")
    same([found.username for found in other.followers_users.list()], ["python-identity"])
    same([found.username for found in user.following_users.list()], ["python-followed"])
    same(own.users.get(other.id).is_followed, True)
    own.users.get(other.id).unfollow()
    same(other.followers_users.list(), [])

with check("memberships: what a user is a member of"):
    group = gl.groups.create({"name": "Python identity", "path": "python-identity-group"})
    group.members.create({"user_id": user.id, "access_level": 30})
    found = user.memberships.list()
    same([(m.source_type, m.source_name, m.access_level) for m in found], [("Namespace", "Python identity", 30)])

with check("identities: one is taken away"):
    user.provider, user.extern_uid = "saml", "python-uid"
    user.save()
    same([found["provider"] for found in gl.users.get(user.id).identities], ["saml"])
    user.identityproviders.delete("saml")
    same(gl.users.get(user.id).identities, [])

with check("service accounts: by raw calls, as this client has no methods for them"):
    account = gl.http_post(f"/groups/{group.id}/service_accounts", post_data={"name": "Robot"})
    same((account["name"], account["username"].startswith("service_account_group_")), ("Robot", True))
    path = f"/groups/{group.id}/service_accounts/{account['id']}/personal_access_tokens"
    first = gl.http_post(path, post_data={"name": "deploy", "scopes": ["api"]})
    second = gl.http_post(f"{path}/{first['id']}/rotate")
    same(client(second["token"]).http_get("/user")["username"], account["username"])
    same([(token["id"], token["revoked"]) for token in gl.http_list(path, state="active")], [(second["id"], False)])
    refused(GitlabAuthenticationError, 401, lambda: client(first["token"]).http_get("/user"))
    gl.http_delete(f"{path}/{second['id']}")
    gl.http_delete(f"/groups/{group.id}/service_accounts/{account['id']}", query_data={"hard_delete": True})
    same(gl.http_list(f"/groups/{group.id}/service_accounts"), [])

with check("delete: a user is gone soon after"):
    user.delete()
    def gone():
        try:
            return not gl.users.get(user.id)
        except GitlabGetError as problem:
            return problem.response_code == 404
    same(eventually(gone), True)
    refused(GitlabDeleteError, 404, lambda: gl.users.delete(999999999))

end()
