# Rendering Markdown with ruby-gitlab 4.17.
require_relative 'ruby_support'

group = Gitlab.create_group('Ruby Hands', 'ruby-hands')
project = Gitlab.create_project('Ruby Deck', namespace_id: group.id)
issue = Gitlab.create_issue(project.id, 'Scrub')

check('markdown: rendered with references') do
  same Gitlab.markdown('**Hello**').html, "<p><strong>Hello</strong></p>\n"
  html = Gitlab.markdown("##{issue.iid}", gfm: true, project: project.path_with_namespace).html
  same html.include?(issue.web_url), true
end

exit($failures.zero? ? 0 : 1)
