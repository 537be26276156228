# Notes on issues and epics with ruby-gitlab 4.17.
require_relative 'ruby_support'

NotFound, Forbidden = Gitlab::Error::NotFound, Gitlab::Error::Forbidden

_, outsider = crew('ruby-note')
group = Gitlab.create_group('Ruby Log', 'ruby-log', visibility: 'public')
project = Gitlab.create_project('Ruby Bell', namespace_id: group.id, visibility: 'public')
Gitlab.create_issue(project.id, 'Ring')

check('notes: create_issue_note, issue_note, issue_notes') do
  made = Gitlab.create_issue_note(project.id, 1, 'Twice')
  same [made.body, made.noteable_iid, made.noteable_type], ['Twice', 1, 'Issue']
  same Gitlab.issue_note(project.id, 1, made.id).to_h, made.to_h
  Gitlab.create_issue_note(project.id, 1, 'Thrice')
  same Gitlab.issue_notes(project.id, 1, sort: 'asc', activity_filter: 'only_comments').map(&:body), %w[Twice Thrice]
  same outsider.create_issue_note(project.id, 1, 'Heard').author.username, outsider.user.username
end

check('notes: edit_issue_note and delete_issue_note') do
  made = Gitlab.create_issue_note(project.id, 1, 'Once')
  same Gitlab.edit_issue_note(project.id, 1, made.id, 'Never').body, 'Never'
  refused(Forbidden, 'author') { outsider.edit_issue_note(project.id, 1, made.id, 'Mine') }
  Gitlab.delete_issue_note(project.id, 1, made.id)
  refused(NotFound, '404 Not found') { Gitlab.issue_note(project.id, 1, made.id) }
end

check('notes: create_epic_note and epic_notes') do
  epic = Gitlab.post("/groups/#{group.id}/epics", body: { title: 'Watch' })
  Gitlab.create_epic_note(group.id, epic.id, 'Eight bells')
  same Gitlab.epic_notes(group.id, epic.id, activity_filter: 'only_comments').map(&:body), ['Eight bells']
end

check('award emoji: of an issue and a note') do
  made = Gitlab.create_award_emoji(project.id, 1, 'issue', 'thumbsup')
  same [made.name, Gitlab.issue(project.id, 1).upvotes], ['thumbsup', 1]
  same Gitlab.award_emoji(project.id, 1, 'issue', made.id).to_h, made.to_h
  Gitlab.delete_award_emoji(project.id, 1, 'issue', made.id)
  same Gitlab.award_emojis(project.id, 1, 'issue').length, 0
  note = Gitlab.create_issue_note(project.id, 1, 'Well done')
  Gitlab.create_note_award_emoji(project.id, 1, 'issue', note.id, 'tada')
  given = Gitlab.note_award_emojis(project.id, 1, 'issue', note.id)
  same given.map(&:name), ['tada']
  same Gitlab.note_award_emoji(project.id, 1, 'issue', note.id, given.first.id).awardable_type, 'Note'
  Gitlab.delete_note_award_emoji(project.id, 1, 'issue', note.id, given.first.id)
  same Gitlab.note_award_emojis(project.id, 1, 'issue', note.id).length, 0
end

exit($failures.zero? ? 0 : 1)
