# To-dos and rendering Markdown with ruby-gitlab 4.17.
require_relative 'ruby_support'

group = Gitlab.create_group('Ruby Hands', 'ruby-hands')
project = Gitlab.create_project('Ruby Deck', namespace_id: group.id)
issue = Gitlab.create_issue(project.id, 'Scrub')

check('markdown: rendered with references') do
  same Gitlab.markdown('**Hello**').html, "<p><strong>Hello</strong></p>\n"
  html = Gitlab.markdown("##{issue.iid}", gfm: true, project: project.path_with_namespace).html
  same html.include?(issue.web_url), true
end

check('todos: todos, mark_todo_as_done and mark_all_todos_as_done') do
  root = Gitlab.user
  Gitlab.mark_all_todos_as_done
  2.times { |each| Gitlab.create_issue(project.id, "Paint #{each}", assignee_ids: [root.id]) }
  found = Gitlab.todos(project_id: project.id)
  same found.map { |each| [each.action_name, each.target.title] }, [['assigned', 'Paint 1'], ['assigned', 'Paint 0']]
  same Gitlab.mark_todo_as_done(found.first.id).state, 'done'
  same Gitlab.todos(state: 'done', project_id: project.id).map(&:id), [found.first.id]
  Gitlab.mark_all_todos_as_done
  same Gitlab.todos.to_a, []
end

exit($failures.zero? ? 0 : 1)
