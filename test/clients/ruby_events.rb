# Activity events with ruby-gitlab 4.17.
require_relative 'ruby_support'

project = Gitlab.create_project('Ruby Events', initialize_with_readme: true)
issue = Gitlab.create_issue(project.id, 'Drift')
Gitlab.create_issue_note(project.id, issue.iid, 'By the current')
Gitlab.close_issue(project.id, issue.iid)

def said(events)
  events.map { |each| [each.action_name, each.target_type, each.target_title] }
end

check('events: project_events with filters') do
  same said(Gitlab.project_events(project.id, sort: 'asc')),
       [['created', nil, nil], ['pushed', nil, nil], %w[opened Issue Drift], ['commented on', 'Note', nil],
        %w[closed Issue Drift]]
  same said(Gitlab.project_events(project.id, target_type: 'issue', action: 'closed')), [%w[closed Issue Drift]]
  same Gitlab.project_events(project.id, target_type: 'note').first.note.body, 'By the current'
  same Gitlab.project_events(project.id, action: 'pushed').first.push_data.ref, 'main'
end

check('events: user_events by the name, and events of oneself') do
  root = Gitlab.user
  same said(Gitlab.user_events(root.username, per_page: 1)), [%w[closed Issue Drift]]
  same said(Gitlab.events(scope: 'all', per_page: 1)), [%w[closed Issue Drift]]
end

exit($failures.zero? ? 0 : 1)
