"""Groups, projects and members, and what administrators read, with python-gitlab 3.12."""
import io
import time

import requests
from gitlab.const import AccessLevel
from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError, GitlabGroupTransferError
from gitlab.exceptions import GitlabHttpError, GitlabListError, GitlabTransferProjectError, GitlabUpdateError
from python_support import PER_PAGE, URL, check, client, end, eventually, person, png, refused, same

PROJECTS = 7
NOWHERE = 999999999
gl = client()
anonymous = client(None)
mate, hand = [gl.users.create(person(f"python-{name}")) for name in ("mate", "hand")]
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
top = below = sail = None
fleet = []

def ids(found):
    return [each.id for each in found]

with check("groups: create() at the top and below, with an avatar as multipart"):
    fields = {"name": "Python Fleet", "path": "Python-Fleet", "visibility": "public", "description": "Ships"}
    top = gl.groups.create({**fields, "lfs_enabled": False, "avatar": io.BytesIO(png(0, 99, 0))})
    same((top.full_path, top.visibility, top.lfs_enabled, top.parent_id), ("Python-Fleet", "public", False, None))
    same(requests.get(top.avatar_url, timeout=30).content, png(0, 99, 0))
    below = gl.groups.create({"name": "North", "path": "north", "parent_id": top.id, "visibility": "public"})
    same((below.full_path, below.full_name), ("Python-Fleet/north", "Python Fleet / North"))
    same(below.web_url, f"{URL}/groups/Python-Fleet/north")

with check("groups: what cannot be is refused, and can be read"):
    refused(GitlabCreateError, 400, lambda: gl.groups.create({"name": "x", "path": "python-fleet"}), "already been taken")
    fields = {"name": "x", "path": "x", "parent_id": NOWHERE}
    refused(GitlabCreateError, 404, lambda: gl.groups.create(fields), "404 Group Not Found")
    fields["parent_id"] = top.id
    refused(GitlabCreateError, 403, lambda: mates.groups.create(fields), "403 Forbidden")

with check("groups: get() by id and by full path in any case"):
    for name in (below.id, "Python-Fleet/north", "python-fleet/NORTH"):
        same(gl.groups.get(name).id, below.id)
    same("projects" in gl.groups.get(below.id).attributes, True)
    same("projects" in gl.groups.get(below.id, with_projects=False).attributes, False)
    refused(GitlabGetError, 404, lambda: gl.groups.get("python-fleet/nowhere"), "404 Group Not Found")

with check("groups: list() with search, owned, top_level_only, skip_groups and min_access_level"):
    same(ids(gl.groups.list(search="python fleet", top_level_only=True)), [top.id])
    same({top.id, below.id} <= set(ids(gl.groups.list(owned=True, get_all=True))), True)
    same(top.id in ids(gl.groups.list(skip_groups=[top.id], get_all=True)), False)
    same(ids(mates.groups.list(min_access_level=AccessLevel.GUEST)), [])
    same(top.id in ids(mates.groups.list(all_available=True, get_all=True)), True)
    same(top.id in ids(anonymous.groups.list(get_all=True)), True)

with check("groups: subgroups, descendant_groups and projects"):
    deepest = gl.groups.create({"name": "Deep", "path": "deep", "parent_id": below.id})
    same(ids(top.subgroups.list()), [below.id])
    same(set(ids(top.descendant_groups.list())), {below.id, deepest.id})
    same(top.projects.list(), [])

with check("groups: save() changes what was assigned"):
    below.description, below.project_creation_level = "Up there", "maintainer"
    below.save()
    again = gl.groups.get(below.id)
    same((again.description, again.project_creation_level, again.name), ("Up there", "maintainer", "North"))
    below.visibility = "loud"
    refused(GitlabUpdateError, 400, below.save, "visibility does not have a valid value")
    below.visibility = "public"

with check("projects: create() in a group, in one's own place and for a user"):
    for number in range(PROJECTS):
        fields = {"name": f"Python Hull {number}", "namespace_id": below.id, "visibility": "public"}
        fleet.append(gl.projects.create({**fields, "topics": ["hull", f"number-{number}"], "wiki_enabled": False}))
    sail = fleet[0]
    same((sail.path_with_namespace, sail.namespace["id"]), ("Python-Fleet/north/python-hull-0", below.id))
    same((sail.topics, sail.tag_list, sail.wiki_enabled), (["hull", "number-0"], ["hull", "number-0"], False))
    same(mates.projects.create({"name": "Own"}).path_with_namespace, "python-mate/own")
    same(mate.projects.create({"name": "Given"}).path_with_namespace, "python-mate/given")
    same({each.path for each in mate.projects.list()}, {"own", "given"})

with check("projects: what cannot be is refused, and can be read"):
    refused(GitlabCreateError, 400, lambda: gl.projects.create({}), "name, path are missing")
    fields = {"name": "Python Hull 0", "namespace_id": below.id}
    refused(GitlabCreateError, 400, lambda: gl.projects.create(fields), "has already been taken")
    refused(GitlabCreateError, 403, lambda: mates.projects.create({**fields, "name": "x"}), "403 Forbidden")
    refused(GitlabCreateError, 404, lambda: gl.projects.create({**fields, "namespace_id": NOWHERE}), "404 Namespace")

with check("projects: get() by id and by full path in any case, and not at all if hidden"):
    for name in (sail.id, "Python-Fleet/north/python-hull-0", "PYTHON-FLEET/north/Python-Hull-0"):
        same(gl.projects.get(name).id, sail.id)
    same(anonymous.projects.get(sail.id).id, sail.id)
    for name in ("python-mate/own", "python-mate/nothing"):
        refused(GitlabGetError, 404, lambda: anonymous.projects.get(name), "404 Project Not Found")

with check("projects: list() with every kind of filter"):
    everything = ids(fleet)
    same(set(ids(gl.projects.list(search="python hull"))), set(everything))
    same(ids(gl.projects.list(search="hull", topic=["hull", "number-3"])), [fleet[3].id])
    same(ids(gl.projects.list(id_after=fleet[4].id, search="hull", order_by="id", sort="asc")), everything[5:])
    same({each.path for each in mates.projects.list(membership=True)}, {"own", "given"})
    same({each.path for each in mates.projects.list(owned=True, visibility="private")}, {"own", "given"})
    same(len(gl.projects.list(search="hull", repository_storage="default")), PROJECTS)
    same(gl.projects.list(search="hull", repository_storage="elsewhere"), [])
    same(hasattr(gl.projects.list(search="hull 1", simple=True)[0], "visibility"), False)
    same(len(top.projects.list(include_subgroups=True)), PROJECTS)
    same(mates.projects.list(search="hull", with_issues_enabled=True, min_access_level=AccessLevel.GUEST), [])
    refused(GitlabListError, 400, lambda: gl.projects.list(order_by="length"), "order_by does not have a valid value")

with check("projects: save() changes what was assigned, an avatar as multipart"):
    sail.description, sail.topics, sail.lfs_enabled = "Goes first", ["first"], False
    sail.save()
    sail.avatar, sail.merge_method, sail.issues_enabled = io.BytesIO(png(0, 0, 99)), "ff", False
    sail.save()
    again = gl.projects.get(sail.id)
    same((again.description, again.topics, again.lfs_enabled), ("Goes first", ["first"], False))
    same((again.merge_method, again.issues_enabled), ("ff", False))
    same(requests.get(again.avatar_url, timeout=30).content, png(0, 0, 99))
    refused(GitlabUpdateError, 403, lambda: mates.projects.update(sail.id, {"name": "x"}), "403 Forbidden")

with check("projects: archive() and unarchive()"):
    sail.archive()
    same((sail.archived, ids(gl.projects.list(search="hull", archived=True))), (True, [sail.id]))
    sail.unarchive()
    same(sail.archived, False)

with check("projects: star() and unstar(), each of which is 304 the second time"):
    theirs = mates.projects.get(sail.id)
    theirs.star()
    same((theirs.star_count, ids(mate.starred_projects.list())), (1, [sail.id]))
    refused(GitlabCreateError, 304, theirs.star)
    theirs.unstar()
    same(theirs.star_count, 0)
    refused(GitlabDeleteError, 304, theirs.unstar)

for kind, place in (("project", lambda: fleet[1]), ("group", lambda: below)):
    with check(f"members of a {kind}: create(), list(), get(), save() and delete()"):
        members = place().members
        member = members.create({"user_id": mate.id, "access_level": AccessLevel.DEVELOPER, "expires_at": "2099-01-31"})
        same((member.username, member.access_level, member.expires_at), ("python-mate", 30, "2099-01-31"))
        again = {"user_id": mate.id, "access_level": AccessLevel.GUEST}
        refused(GitlabCreateError, 409, lambda: members.create(again), "Member already exists")
        same(mate.id in ids(members.list()), True)
        same(ids(members.list(query="python-mate")), [mate.id])
        same(ids(members.list(user_ids=[mate.id, hand.id])), [mate.id])
        member = members.get(mate.id)
        member.access_level = AccessLevel.MAINTAINER
        member.save()
        same((members.get(mate.id).access_level, members.get(mate.id).expires_at), (40, "2099-01-31"))
        members.create({"user_id": f"{hand.id}", "access_level": AccessLevel.GUEST})
        members.delete(hand.id)
        refused(GitlabGetError, 404, lambda: members.get(hand.id), "404 Not found")
        refused(GitlabDeleteError, 404, lambda: members.delete(NOWHERE))

with check("members: those from above are in members_all"):
    same(mate.id in ids(fleet[2].members.list()), False)
    same(mate.id in ids(fleet[2].members_all.list()), True)
    same((fleet[2].members_all.get(mate.id).access_level, fleet[1].members_all.get(mate.id).access_level), (40, 40))
    same({mate.id, 1} <= set(ids(below.members_all.list())), True)
    same({each.username for each in fleet[2].users.list()} >= {"root", "python-mate"}, True)
    same(ids(fleet[2].groups.list()), [top.id, below.id])

with check("members: a member does what the level allows, and the last Owner stays"):
    same(mates.projects.get(fleet[2].id).permissions["group_access"]["access_level"], 40)
    mates.projects.update(fleet[2].id, {"description": "Written by a Maintainer"})
    refused(GitlabUpdateError, 403, lambda: mates.projects.update(fleet[2].id, {"visibility": "private"}))
    refused(GitlabDeleteError, 403, lambda: top.members.delete(1), "last")

with check("share and unshare of a project and a group"):
    guests = gl.groups.create({"name": "Guests", "path": "python-guests"})
    guests.members.create({"user_id": hand.id, "access_level": AccessLevel.OWNER})
    fleet[3].share(guests.id, AccessLevel.REPORTER, "2099-01-31")
    shared = gl.projects.get(fleet[3].id).shared_with_groups
    same([(each["group_id"], each["group_access_level"], each["expires_at"]) for each in shared],
         [(guests.id, 20, "2099-01-31")])
    same(fleet[3].members_all.get(hand.id).access_level, 20)
    refused(GitlabCreateError, 409, lambda: fleet[3].share(guests.id, AccessLevel.GUEST))
    fleet[3].unshare(guests.id)
    refused(GitlabGetError, 404, lambda: fleet[3].members_all.get(hand.id))
    below.share(guests.id, AccessLevel.DEVELOPER)
    same([each["group_access_level"] for each in below.shared_with_groups], [30])
    same(fleet[3].members_all.get(hand.id).access_level, 30)
    below.unshare(guests.id)
    refused(GitlabDeleteError, 404, lambda: below.unshare(guests.id))

with check("transfer of a project and a group"):
    fleet[4].transfer(top.id)
    same(gl.projects.get("python-fleet/python-hull-4").id, fleet[4].id)
    fleet[4].transfer("python-fleet/north")
    same(gl.projects.get(fleet[4].id).path_with_namespace, "Python-Fleet/north/python-hull-4")
    top.transfer_project(fleet[4].id)
    same(gl.projects.get(fleet[4].id).path_with_namespace, "Python-Fleet/python-hull-4")
    refused(GitlabTransferProjectError, 404, lambda: fleet[4].transfer(NOWHERE), "404 Namespace Not Found")
    deepest.transfer(top.id)
    same(gl.groups.get(deepest.id).full_path, "Python-Fleet/deep")
    gl.groups.update(deepest.id, {"path": "python-deep"})
    deepest.transfer()
    same(gl.groups.get("python-deep").parent_id, None)
    refused(GitlabGroupTransferError, 400, lambda: deepest.transfer(deepest.id))

with check("delete marks for deletion, restore() takes it back"):
    fleet[5].delete()
    same(gl.projects.get(fleet[5].id).marked_for_deletion_on is None, False)
    refused(GitlabDeleteError, 400, fleet[5].delete, "already been marked for deletion")
    fleet[5].restore()
    same(gl.projects.get(fleet[5].id).marked_for_deletion_on, None)
    deepest.delete()
    same(gl.groups.get(deepest.id).marked_for_deletion_on is None, False)
    same(gl.http_post(f"/groups/{deepest.id}/restore")["marked_for_deletion_on"], None)
    refused(GitlabDeleteError, 403, lambda: mates.projects.delete(fleet[5].id), "403 Forbidden")

def gone(manager, thing, full_path):
    """Deletes it for good and waits for the job that does it."""
    manager.delete(thing)
    manager.delete(thing, permanently_remove=True, full_path=full_path)
    for _ in range(100):
        try:
            manager.get(thing)
            time.sleep(0.1)
        except GitlabGetError as problem:
            return problem.response_code
    return None

with check("delete with permanently_remove ends in a 404"):
    same(gone(gl.projects, fleet[6].id, "Python-Fleet/north/python-hull-6"), 404)
    same(gone(gl.groups, deepest.id, "python-deep"), 404)

with check("namespaces: list(), get() by id and path, and exists()"):
    same(ids(gl.namespaces.list(search="python-fleet")), [top.id])
    same([each.kind for each in mates.namespaces.list()], ["user", "group"])
    for name in (below.id, "python-fleet/NORTH"):
        same((gl.namespaces.get(name).full_path, gl.namespaces.get(name).kind), ("Python-Fleet/north", "group"))
    refused(GitlabGetError, 404, lambda: mates.namespaces.get("root"), "404 Namespace Not Found")
    same(gl.namespaces.exists("Python-Fleet").exists, True)
    same(gl.namespaces.exists("python-fleet").suggests, ["python-fleet1"])
    same((gl.namespaces.exists("north").exists, gl.namespaces.exists("north", parent_id=top.id).exists), (False, True))

with check("list by offset: the iterator follows every page and knows the totals"):
    found = gl.projects.list(search="hull", order_by="id", sort="asc", per_page=2, iterator=True)
    same((found.current_page, found.next_page, found.total, found.total_pages), (1, 2, PROJECTS - 1, 3))
    same(ids(found), ids(fleet[:-1]))
    same(len(below.members_all.list(per_page=1, get_all=True)), 2)

with check("list by keyset: a keyset client sees every row once, in projects, groups and audit events"):
    keyset = client(pagination="keyset", order_by="id", per_page=PER_PAGE)
    for manager in (lambda each: each.projects, lambda each: each.groups, lambda each: each.audit_events):
        everything = ids(manager(gl).list(get_all=True, per_page=100))
        found = manager(keyset).list(iterator=True)
        same(found.total, None)
        same(sorted(ids(found)), sorted(everything))
    named = [each.name for each in anonymous.groups.list(pagination="keyset", order_by="name", per_page=1, get_all=True)]
    same((named, {"North", "Python Fleet"} <= set(named)), (sorted(named), True))

with check("sidekiq: the four metrics"):
    queues = gl.sidekiq.queue_metrics()["queues"]
    same((queues["default"]["backlog"], type(queues["default"]["latency"])), (0, int))
    # The worker of a server that has just started tells of itself a moment later.
    process = eventually(lambda: gl.sidekiq.process_metrics()["processes"])[0]
    same(("default" in process["queues"], process["concurrency"] > 0, process["busy"] >= 0), (True, True, True))
    jobs = gl.sidekiq.job_stats()["jobs"]
    same((jobs["processed"] >= 2, jobs["failed"], jobs["dead"]), (True, 0, 0))
    same(sorted(gl.sidekiq.compound_metrics()), ["jobs", "processes", "queues"])
    refused(GitlabGetError, 403, mates.sidekiq.job_stats, "403 Forbidden")

with check("settings: get() and save()"):
    settings = gl.settings.get()
    before = settings.default_projects_limit
    settings.default_projects_limit, settings.restricted_visibility_levels = 77, ["internal"]
    settings.save()
    again = gl.settings.get()
    same((again.default_projects_limit, again.restricted_visibility_levels), (77, ["internal"]))
    again.default_projects_limit, again.restricted_visibility_levels = before, []
    again.save()
    same(gl.settings.get().restricted_visibility_levels, [])
    refused(GitlabGetError, 403, mates.settings.get, "403 Forbidden")

with check("audit events: of the instance, a group and a project, each also by its id"):
    newest = gl.audit_events.list(entity_type="Project", entity_id=fleet[2].id, get_all=True)
    same([event.event_name for event in newest], ["project_updated", "project_created"])
    same((newest[0].author_id, newest[0].details["author_name"]), (mate.id, "python-mate"))
    same(newest[0].details["entity_path"], "Python-Fleet/north/python-hull-2")
    same(gl.audit_events.get(newest[0].id).request_id, newest[0].request_id)
    same(ids(fleet[2].audit_events.list()), ids(newest))
    same(fleet[2].audit_events.get(newest[1].id).event_name, "project_created")
    events = below.audit_events.list(get_all=True, created_after="2020-01-01T00:00:00Z")
    same({"group_created", "group_updated", "member_added"} <= {event.event_name for event in events}, True)
    same(below.audit_events.get(events[0].id).entity_id, below.id)
    refused(GitlabGetError, 404, lambda: top.audit_events.get(newest[0].id))
    refused(GitlabListError, 403, mates.audit_events.list, "403 Forbidden")

end()
