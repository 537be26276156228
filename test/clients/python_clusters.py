"""Clusters with python-gitlab 3.12."""
from gitlab.exceptions import GitlabCreateError, GitlabDeleteError, GitlabGetError
from python_support import check, client, end, person, refused, same

NOWHERE = 999999999
API_URL = "https://k8s.example.com"
SECRET = "python-canary"
gl = client()
mate = gl.users.create(person("python-helm"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
fleet = gl.projects.create({"name": "Python Fleet", "topics": ["sea"]})
bridge = gl.projects.create({"name": "Python Bridge"})
main = None

def attributes(**more):
    return {"api_url": API_URL, "token": SECRET, **more}

with check("clusters: create() with a hash of attributes, and no token in what comes back"):
    main = fleet.clusters.create({"name": "Main", "platform_kubernetes_attributes": attributes(namespace="ship")})
    same((main.name, main.provider_type, main.platform_type, main.cluster_type), ("Main", "user", "kubernetes", "project_type"))
    same((main.enabled, main.managed, main.environment_scope, main.domain), (True, True, "*", None))
    same((main.platform_kubernetes["api_url"], main.platform_kubernetes["namespace"]), (API_URL, "ship"))
    same((main.user["username"], main.project["id"], main.project["tag_list"]), ("root", fleet.id, ["sea"]))
    same(SECRET in str(main.attributes), False)

with check("clusters: list() is without project, get() has it"):
    found = fleet.clusters.list()
    same(([each.id for each in found], "project" in found[0].attributes), ([main.id], False))
    same(fleet.clusters.get(main.id).attributes, main.attributes)
    refused(GitlabGetError, 404, lambda: fleet.clusters.get(NOWHERE), "404 Not found")
    refused(GitlabGetError, 404, lambda: mates.projects.get(fleet.id), "404 Project Not Found")

with check("clusters: save() and update()"):
    main.name = "Mainmast"
    main.environment_scope = "production"
    main.save()
    same((fleet.clusters.get(main.id).name, fleet.clusters.get(main.id).environment_scope), ("Mainmast", "production"))
    fleet.clusters.update(main.id, {"domain": "apps.example.com", "management_project_id": bridge.id})
    changed = fleet.clusters.get(main.id)
    same((changed.domain, changed.management_project["id"]), ("apps.example.com", bridge.id))
    same(changed.platform_kubernetes["token_set"], True)
    fleet.clusters.update(main.id, {"platform_kubernetes_attributes": {"api_url": "https://other.example.com"}})
    same(fleet.clusters.get(main.id).platform_kubernetes["token_set"], False)

with check("clusters: what is refused can be read"):
    again = {"name": "Again", "environment_scope": "production", "platform_kubernetes_attributes": attributes()}
    refused(GitlabCreateError, 400, lambda: fleet.clusters.create(again), "cannot add duplicated environment scope")
    inside = {"name": "In", "platform_kubernetes_attributes": attributes(api_url="http://10.0.0.1")}
    refused(GitlabCreateError, 400, lambda: fleet.clusters.create(inside), "is blocked")

with check("clusters: delete()"):
    main.delete()
    same(fleet.clusters.list(), [])
    refused(GitlabDeleteError, 404, lambda: fleet.clusters.delete(main.id), "404 Not found")

end()
