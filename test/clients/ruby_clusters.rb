# Clusters with ruby-gitlab 4.17.
require_relative 'ruby_support'

NOWHERE = 999_999_999
API_URL = 'https://k8s.example.com'
SECRET = 'ruby-canary'
NotFound, BadRequest = Gitlab::Error::NotFound, Gitlab::Error::BadRequest

_, helmsman = crew('ruby-helm')
fleet = Gitlab.create_project('Ruby Fleet')
main = nil

check('clusters: add_project_cluster with attributes in brackets, and no token in what comes back') do
  attributes = { api_url: API_URL, token: SECRET, namespace: 'ship', authorization_type: 'abac' }
  main = Gitlab.add_project_cluster(fleet.id, 'Main', platform_kubernetes_attributes: attributes)
  same [main.name, main.provider_type, main.environment_scope, main.enabled], ['Main', 'user', '*', true]
  same [main.platform_kubernetes.api_url, main.platform_kubernetes.authorization_type], [API_URL, 'abac']
  same [main.user.username, main.project.id], ['root', fleet.id]
  same main.to_h.to_s.include?(SECRET), false
end

check('clusters: project_clusters is without project, project_cluster has it') do
  found = Gitlab.project_clusters(fleet.path_with_namespace)
  same [ids(found), found.first.to_h.key?('project')], [[main.id], false]
  same Gitlab.project_cluster(fleet.id, main.id).to_h, main.to_h
  refused(NotFound, '404 Not found') { Gitlab.project_cluster(fleet.id, NOWHERE) }
  refused(NotFound, '404 Project Not Found') { helmsman.project_clusters(fleet.id) }
end

check('clusters: edit_project_cluster') do
  edited = Gitlab.edit_project_cluster(fleet.id, main.id, name: 'Mast', enabled: false, environment_scope: 'production')
  same [edited.name, edited.enabled, edited.environment_scope], ['Mast', false, 'production']
  same edited.platform_kubernetes.token_set, true
  moved = { platform_kubernetes_attributes: { api_url: 'https://other.example.com' } }
  same Gitlab.edit_project_cluster(fleet.id, main.id, moved).platform_kubernetes.token_set, false
end

check('clusters: what is refused can be read') do
  again = { environment_scope: 'production', platform_kubernetes_attributes: { api_url: API_URL, token: SECRET } }
  refused(BadRequest, 'cannot add duplicated environment scope') { Gitlab.add_project_cluster(fleet.id, 'Again', again) }
  refused(BadRequest, '[token] is missing') do
    Gitlab.add_project_cluster(fleet.id, 'No', platform_kubernetes_attributes: { api_url: API_URL })
  end
end

check('clusters: delete_project_cluster') do
  Gitlab.delete_project_cluster(fleet.id, main.id)
  same Gitlab.project_clusters(fleet.id).size, 0
  refused(NotFound, '404 Not found') { Gitlab.delete_project_cluster(fleet.id, main.id) }
end

exit($failures.zero? ? 0 : 1)
