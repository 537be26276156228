# Milestones with ruby-gitlab 4.17.
require_relative 'ruby_support'

NotFound, BadRequest = Gitlab::Error::NotFound, Gitlab::Error::BadRequest

_, stranger = crew('ruby-goal')
group = Gitlab.create_group('Ruby Goals', 'ruby-goals')
project = Gitlab.create_project('Ruby Voyage', namespace_id: group.id)
own = above = nil

check('milestones: create_milestone, milestone and milestones') do
  own = Gitlab.create_milestone(project.id, 'v1', description: 'First', due_date: '2031-01-31')
  same [own.iid, own.title, own.state, own.due_date, own.expired, own.project_id], [1, 'v1', 'active', '2031-01-31', false, project.id]
  same Gitlab.milestone(project.id, own.id).web_url, own.web_url
  same Gitlab.milestones(project.path_with_namespace, state: 'active', iids: [1]).map(&:id), [own.id]
  refused(BadRequest, 'has already been taken') { Gitlab.create_milestone(project.id, 'v1') }
end

check('milestones: edit_milestone') do
  edited = Gitlab.edit_milestone(project.id, own.id, title: 'v2', state_event: 'close')
  same [edited.title, edited.state, edited.description], %w[v2 closed First]
  refused(BadRequest, 'at least one parameter must be provided') { Gitlab.edit_milestone(project.id, own.id) }
end

check('milestones: of groups') do
  above = Gitlab.create_group_milestone(group.id, 'above', start_date: '2031-01-01')
  same Gitlab.group_milestone(group.id, above.id).group_id, group.id
  same Gitlab.edit_group_milestone(group.id, above.id, description: 'Higher').description, 'Higher'
  same Gitlab.group_milestones(group.id).map(&:title), ['above']
  same Gitlab.milestones(project.id, include_ancestors: true, per_page: 1).auto_paginate.map(&:title).sort, %w[above v2]
end

check('milestones: milestone_issues, group_milestone_issues and filters of issues') do
  Gitlab.create_issue(project.id, 'leak', milestone_id: own.id)
  rust = Gitlab.create_issue(project.id, 'rust', milestone_id: above.id)
  same Gitlab.milestone_issues(project.id, own.id).map(&:title), ['leak']
  same Gitlab.group_milestone_issues(group.id, above.id).map(&:title), ['rust']
  same Gitlab.issues(project.id, milestone: 'v2').map(&:title), ['leak']
  same Gitlab.group_issues(group.id, milestone: 'above').map { |issue| issue.milestone.title }, ['above']
  same Gitlab.edit_issue(project.id, rust.iid, milestone_id: '').milestone, nil
end

check('milestones: delete_milestone') do
  Gitlab.delete_milestone(project.id, own.id)
  same Gitlab.milestones(project.id).size, 0
  refused(NotFound, '404 Milestone Not Found') { Gitlab.milestone(project.id, own.id) }
end

check('milestones: hidden from others') do
  refused(NotFound, '404 Project Not Found') { stranger.milestones(project.id) }
  refused(NotFound, '404 Group Not Found') { stranger.group_milestones(group.id) }
end

exit($failures.zero? ? 0 : 1)
