# Subscriptions with ruby-gitlab 4.17, which has no notification settings.
require_relative 'ruby_support'

group = Gitlab.create_group('Ruby Lookouts', 'ruby-lookouts')
project = Gitlab.create_project('Ruby Mast', namespace_id: group.id)
issue = Gitlab.create_issue(project.id, 'Fog')

check('issues: unsubscribe_from_issue and subscribe_to_issue') do
  same Gitlab.unsubscribe_from_issue(project.id, issue.iid).subscribed, false
  same Gitlab.issue(project.id, issue.iid).subscribed, false
  same Gitlab.subscribe_to_issue(project.id, issue.iid).subscribed, true
end

exit($failures.zero? ? 0 : 1)
