# Issues with ruby-gitlab 4.17.
require_relative 'ruby_support'

NotFound, BadRequest = Gitlab::Error::NotFound, Gitlab::Error::BadRequest

_, outsider = crew('ruby-issue')
group = Gitlab.create_group('Ruby Leaks', 'ruby-leaks')
project = Gitlab.create_project('Ruby Hull', namespace_id: group.id)
other = Gitlab.create_project('Ruby Keel', namespace_id: group.id)

check('issues: create_issue and issue') do
  made = Gitlab.create_issue(project.id, 'Leak', description: 'Below the line', labels: 'bug,wet', weight: 2, due_date: '2031-01-31')
  same [made.iid, made.state, made.labels, made.weight, made.due_date], [1, 'opened', %w[bug wet], 2, '2031-01-31']
  same Gitlab.issue(project.id, 1).to_h, made.to_h
  refused(NotFound, '404 Not found') { Gitlab.issue(project.id, 99) }
end

check('issues: lists with filters') do
  Gitlab.create_issue(project.id, 'Rust', labels: 'bug')
  same Gitlab.issues(project.id, labels: 'bug', order_by: 'title', sort: 'asc').map(&:title), %w[Leak Rust]
  same Gitlab.issues(project.id, labels: 'bug,wet').map(&:title), ['Leak']
  same Gitlab.issues(project.id, iids: [2], not: { labels: 'wet' }).map(&:title), ['Rust']
  same Gitlab.group_issues(group.id, search: 'rus').map(&:title), ['Rust']
  same Gitlab.issues(nil, labels: 'wet', scope: 'all').map(&:title).include?('Leak'), true
  same Gitlab.issues(project.id, per_page: 1, sort: 'asc').auto_paginate.map(&:title), %w[Leak Rust]
end

check('issues: edit_issue, close_issue and reopen_issue') do
  same Gitlab.edit_issue(project.id, 1, add_labels: 'calm', remove_labels: 'wet').labels, %w[bug calm]
  same Gitlab.close_issue(project.id, 1).state, 'closed'
  same Gitlab.reopen_issue(project.id, 1).state, 'opened'
  refused(BadRequest, 'at least one parameter must be provided') { Gitlab.edit_issue(project.id, 1) }
end

check('issues: participants_on_issue') do
  same Gitlab.participants_on_issue(project.id, 1).map(&:username), [Gitlab.user.username]
end

check('issues: move_issue') do
  moved = Gitlab.move_issue(project.id, 2, to_project_id: other.id)
  same [moved.project_id, moved.iid, moved.title], [other.id, 1, 'Rust']
  same Gitlab.issue(project.id, 2).moved_to_id, moved.id
end

check('issues: hidden from others') do
  refused(NotFound, '404 Project Not Found') { outsider.issues(project.id) }
end

check('issues: delete_issue') do
  Gitlab.delete_issue(project.id, 1)
  refused(NotFound, '404 Not found') { Gitlab.issue(project.id, 1) }
end

exit($failures.zero? ? 0 : 1)
