# Issue links and label events with ruby-gitlab 4.17, which has no links between epics.
require_relative 'ruby_support'

NotFound, Conflict = Gitlab::Error::NotFound, Gitlab::Error::Conflict

group = Gitlab.create_group('Ruby Knots', 'ruby-knots')
project = Gitlab.create_project('Ruby Rope', namespace_id: group.id)
first = Gitlab.create_issue(project.id, 'Splice', labels: 'bug')
second = Gitlab.create_issue(project.id, 'Whip')

check('links: create_issue_link and issue_links from both ends') do
  link = Gitlab.create_issue_link(project.id, first.iid, project.path_with_namespace, second.iid)
  same [link.source_issue.id, link.target_issue.id, link.link_type], [first.id, second.id, 'relates_to']
  found = Gitlab.issue_links(project.id, second.iid)
  same found.map { |each| [each.id, each.issue_link_id] }, [[first.id, link.id]]
end

check('links: what is refused can be read') do
  refused(Conflict, 'Issue(s) already assigned') { Gitlab.create_issue_link(project.id, second.iid, project.id, first.iid) }
  refused(Gitlab::Error::Unprocessable, 'cannot be related to itself') do
    Gitlab.create_issue_link(project.id, first.iid, project.id, first.iid)
  end
  refused(NotFound, '404 Not found') { Gitlab.create_issue_link(project.id, first.iid, project.id, 99) }
end

check('links: delete_issue_link shows the link once more') do
  id = Gitlab.issue_links(project.id, first.iid).first.issue_link_id
  same Gitlab.delete_issue_link(project.id, first.iid, id).target_issue.id, second.id
  same Gitlab.issue_links(project.id, first.iid).to_a, []
end

check('label events: those of an issue and of an epic') do
  Gitlab.edit_issue(project.id, first.iid, labels: 'urgent')
  events = Gitlab.issue_label_events(project.id, first.iid)
  same events.map { |each| [each.action, each.label.name] }, [%w[add bug], %w[add urgent], %w[remove bug]]
  same Gitlab.issue_label_event(project.id, first.iid, events.first.id).resource_id, first.id
  epic = Gitlab.create_epic(group.id, 'Voyage', labels: 'far')
  same Gitlab.epic_label_events(group.id, epic.id).map { |each| each.label.name }, ['far']
  id = Gitlab.epic_label_events(group.id, epic.iid).first.id
  same Gitlab.epic_label_event(group.id, epic.id, id).resource_type, 'Epic'
end

exit($failures.zero? ? 0 : 1)
