# Epics of groups with ruby-gitlab 4.17.
require_relative 'ruby_support'

NotFound, BadRequest = Gitlab::Error::NotFound, Gitlab::Error::BadRequest

_, outsider = crew('ruby-pilot')
group = Gitlab.create_group('Ruby Bridge', 'ruby-bridge')
project = Gitlab.create_project('Ruby Wheel', namespace_id: group.id)

check('epics: create_epic, epic and epics') do
  made = Gitlab.create_epic(group.id, 'Voyage', labels: 'sea', due_date_fixed: '2030-01-02', due_date_is_fixed: true)
  same [made.iid, made.labels, made.due_date, made.color], [1, ['sea'], '2030-01-02', '#1068bf']
  same Gitlab.epic(group.id, 1).to_h, made.to_h
  Gitlab.create_epic(group.id, 'Leg', parent_id: made.id)
  same Gitlab.epics(group.id, order_by: 'title', sort: 'asc').map(&:title), %w[Leg Voyage]
  same Gitlab.epics(group.full_path, labels: 'sea').map(&:title), ['Voyage']
  same Gitlab.epics(group.id, per_page: 1, order_by: 'title').auto_paginate.map(&:parent_id), [nil, made.id]
  refused(NotFound, '404 Not found') { Gitlab.epic(group.id, 99) }
end

check('epics: edit_epic') do
  edited = Gitlab.edit_epic(group.id, 1, title: 'Long voyage', add_labels: 'wind', state_event: 'close')
  same [edited.title, edited.labels, edited.state], ['Long voyage', %w[sea wind], 'closed']
  refused(BadRequest, 'must be a valid color code') { Gitlab.edit_epic(group.id, 1, color: 'reddish') }
end

check('epics: epic_issues') do
  issue = Gitlab.create_issue(project.id, 'Caulk')
  Gitlab.post("/groups/#{group.id}/epics/1/issues/#{issue.id}")
  same Gitlab.epic_issues(group.id, 1).map(&:title), ['Caulk']
  same Gitlab.issue(project.id, issue.iid).epic.iid, 1
end

check('epics: hidden from others, and delete_epic') do
  refused(NotFound, '404 Group Not Found') { outsider.epic(group.id, 1) }
  Gitlab.delete_epic(group.id, 1)
  refused(NotFound, '404 Not found') { Gitlab.epic(group.id, 1) }
end

exit($failures.zero? ? 0 : 1)
