# Labels with ruby-gitlab 4.17, which changes them by PUT without an id.
require_relative 'ruby_support'

NotFound, BadRequest, Conflict = Gitlab::Error::NotFound, Gitlab::Error::BadRequest, Gitlab::Error::Conflict

_, stamper = crew('ruby-stamp')
group = Gitlab.create_group('Ruby Stamps', 'ruby-stamps')
project = Gitlab.create_project('Ruby Ink', namespace_id: group.id)

check('labels: create_label') do
  made = Gitlab.create_label(project.id, 'bug', '#8899AA', description: 'Flaws', priority: 2)
  same [made.name, made.color, made.text_color, made.description, made.priority], ['bug', '#8899aa', '#1F1E24', 'Flaws', 2]
  refused(Conflict, 'Label already exists') { Gitlab.create_label(project.id, 'bug', 'red') }
  refused(BadRequest, 'must be a valid color code') { Gitlab.create_label(project.id, 'x', 'reddish') }
end

check('labels: edit_label names it in the body') do
  edited = Gitlab.edit_label(project.id, 'bug', new_name: 'flaw', color: 'tomato')
  same [edited.name, edited.color, edited.priority], ['flaw', '#ff6347', 2]
  refused(NotFound, '404 Label Not Found') { Gitlab.edit_label(project.id, 'bug', color: 'red') }
  refused(BadRequest, 'at least one parameter must be provided') { Gitlab.edit_label(project.id, 'flaw') }
end

check('labels: create_group_label, edit_group_label and what a project has of its group') do
  Gitlab.create_group_label(group.id, 'above', 'teal')
  same Gitlab.edit_group_label(group.id, 'above', description: 'Higher').description, 'Higher'
  same Gitlab.group_labels(group.id).map(&:name), ['above']
  same Gitlab.labels(project.path_with_namespace).map(&:name), %w[above flaw]
  same Gitlab.labels(project.id, include_ancestor_groups: false).map(&:name), ['flaw']
  same Gitlab.labels(project.id, per_page: 1).auto_paginate.map(&:is_project_label), [false, true]
  refused(NotFound, '404 Label Not Found') { Gitlab.edit_label(project.id, 'above', color: 'red') }
end

check('labels: delete_label and delete_group_label') do
  Gitlab.delete_label(project.id, 'flaw')
  Gitlab.delete_group_label(group.id, 'above')
  same Gitlab.labels(project.id).size, 0
  refused(NotFound, '404 Label Not Found') { Gitlab.delete_label(project.id, 'flaw') }
end

check('labels: hidden from others') do
  refused(NotFound, '404 Project Not Found') { stamper.labels(project.id) }
  refused(NotFound, '404 Group Not Found') { stamper.group_labels(group.id) }
end

exit($failures.zero? ? 0 : 1)
