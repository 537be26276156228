# Merge requests with ruby-gitlab 4.17.
require_relative 'ruby_support'

project = Gitlab.create_project('Ruby Review', initialize_with_readme: true)
Gitlab.create_branch(project.id, 'rope', 'main')
request = nil

check('merge requests: create, read, change and list') do
  request = Gitlab.create_merge_request(project.id, 'Add a rope', source_branch: 'rope', target_branch: 'main',
                                                                  labels: 'Bug')
  same [request.state, request.labels], ['opened', ['Bug']]
  Gitlab.update_merge_request(project.id, request.iid, title: 'Add two ropes', add_labels: 'New')
  same Gitlab.merge_request(project.id, request.iid).title, 'Add two ropes'
  same Gitlab.merge_requests(project.id, labels: 'New').map(&:iid), [request.iid]
  same Gitlab.user_merge_requests(scope: 'created_by_me', search: 'two ropes').map(&:iid), [request.iid]
  same Gitlab.merge_request_participants(project.id, request.iid).map(&:username), ['root']
end

check('merge requests: notes, discussions, emoji and label events') do
  note = Gitlab.create_merge_request_note(project.id, request.iid, 'Which rope?')
  same Gitlab.merge_request_notes(project.id, request.iid, activity_filter: 'only_comments').map(&:id), [note.id]
  Gitlab.create_merge_request_discussion(project.id, request.iid, body: 'The long one')
  same Gitlab.merge_request_discussions(project.id, request.iid).any? { |each| each.notes[0]['body'] == 'The long one' }, true
  same Gitlab.create_award_emoji(project.id, request.iid, 'merge_request', 'thumbsup').name, 'thumbsup'
  events = Gitlab.merge_request_label_events(project.id, request.iid)
  same events.map { |each| [each.action, each.label.name] }, [%w[add Bug], %w[add New]]
  same Gitlab.merge_request_label_event(project.id, request.iid, events.first.id).resource_type, 'MergeRequest'
end

check('merge requests: subscriptions and events') do
  same Gitlab.unsubscribe_from_merge_request(project.id, request.iid).subscribed, false
  Gitlab.update_merge_request(project.id, request.iid, state_event: 'close')
  same Gitlab.project_events(project.id, target_type: 'merge_request').map(&:action_name), %w[closed opened]
end

exit($failures.zero? ? 0 : 1)
