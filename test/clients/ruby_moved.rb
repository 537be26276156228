# What ruby-gitlab 4.17 does with addresses of before: it follows 301 for a read and 308 for every write. To 301 it
# would turn a write into a read and call that a success, so 308 is all that keeps a write from being lost.
require_relative 'ruby_support'

NotFound, Forbidden = Gitlab::Error::NotFound, Gitlab::Error::Forbidden
OLD = 'ruby-moves/boat'.freeze

mate, mates = crew('ruby-mover')
group = Gitlab.create_group('Ruby Moves', 'ruby-moves')
project = Gitlab.create_project('Boat', namespace_id: group.id)
Gitlab.edit_project(project.id, path: 'ship')

# What the server answers to a request that is not led on.
def told(verb, path)
  address = URI("#{URL}/api/v4/#{path}")
  request = Net::HTTP.const_get(verb).new(address, 'PRIVATE-TOKEN' => TOKEN)
  answer = Net::HTTP.start(address.host, address.port) { |http| http.request(request) }
  [answer.code, answer['Location']]
end

check('moved project: the server says 301 to reads, 308 to writes, with the id') do
  by_id = "#{URL}/api/v4/projects/#{project.id}"
  %w[Get Head].each { |verb| same told(verb, 'projects/ruby-moves%2Fboat'), ['301', by_id] }
  %w[Put Delete].each { |verb| same told(verb, 'projects/ruby-moves%2Fboat'), ['308', by_id] }
  same told('Post', 'projects/Ruby-Moves%2FBOAT/star'), ['308', "#{by_id}/star"]
end

check('moved project: project follows to where it is') do
  found = Gitlab.project(OLD)
  same [found.id, found.path_with_namespace], [project.id, 'ruby-moves/ship']
end

check('moved project: edit_project arrives, method and form kept') do
  edited = Gitlab.edit_project(OLD, description: 'By the old address', topics: %w[one two], lfs_enabled: false)
  same [edited.id, edited.description], [project.id, 'By the old address']
  again = Gitlab.project(project.id)
  same [again.description, again.topics, again.lfs_enabled], ['By the old address', %w[one two], false]
end

check('moved project: a file in edit_project is sent again and arrives whole') do
  data = png(9, 9, 9)
  edited = picture(data) { |file| Gitlab.edit_project(OLD, avatar: file, description: 'With a file') }
  same [edited.id, edited.description], [project.id, 'With a file']
  answer = Net::HTTP.get_response(URI(edited.avatar_url), 'PRIVATE-TOKEN' => TOKEN)
  same [answer.code, answer.body.b], ['200', data]
end

check('moved project: members are added, changed and removed') do
  Gitlab.add_team_member(OLD, mate.id, 20)
  same Gitlab.team_member(project.id, mate.id).access_level, 20
  Gitlab.edit_team_member(OLD, mate.id, 40)
  same Gitlab.team_member(project.id, mate.id).access_level, 40
  same Gitlab.team_member(OLD, mate.id).access_level, 40
  Gitlab.remove_team_member(OLD, mate.id)
  refused(NotFound) { Gitlab.team_member(project.id, mate.id) }
end

check('moved project: archive_project and unarchive_project arrive') do
  Gitlab.archive_project(OLD)
  same Gitlab.project(project.id).archived, true
  Gitlab.unarchive_project(OLD)
  same Gitlab.project(project.id).archived, false
end

check('moved project: lists go on by the id, page after page') do
  Gitlab.add_team_member(project.id, mate.id, 30)
  found = Gitlab.all_members(OLD, per_page: 1).auto_paginate
  same found.map(&:username).sort, %w[root ruby-mover]
end

check('moved project: sudo goes along with a write') do
  as_user('ruby-mover') { Gitlab.star_project(OLD) }
  same ids(Gitlab.user_starred_projects(mate.id)), [project.id]
end

check('moved project: who may not see it is led nowhere, who may not write is refused there') do
  Gitlab.remove_team_member(project.id, mate.id)
  refused(NotFound, '404 Project Not Found') { mates.project(OLD) }
  refused(NotFound, '404 Project Not Found') { mates.edit_project(OLD, name: 'x') }
  Gitlab.add_team_member(project.id, mate.id, 10)
  same mates.project(OLD).id, project.id
  refused(Forbidden, '403 Forbidden') { mates.edit_project(OLD, name: 'x') }
end

check('renamed group: it and the project in it are read and written by their old addresses') do
  Gitlab.edit_group(group.id, path: 'ruby-moved')
  same Gitlab.group('ruby-moves').full_path, 'ruby-moved'
  Gitlab.edit_group('ruby-moves', description: 'Renamed')
  same Gitlab.group(group.id).description, 'Renamed'
  ['ruby-moves/ship', OLD].each do |old|
    same Gitlab.project(old).path_with_namespace, 'ruby-moved/ship'
    Gitlab.edit_project(old, description: "Was #{old}")
    same Gitlab.project(project.id).description, "Was #{old}"
  end
end

check('moved group and project: transfers lead on too') do
  home = Gitlab.create_group('Home', 'ruby-home')
  Gitlab.transfer_project(OLD, home.id)
  Gitlab.edit_project('ruby-moved/ship', description: 'At home')
  same Gitlab.project(OLD).path_with_namespace, 'ruby-home/ship'
  Gitlab.post('/groups/ruby-moves/transfer', body: { group_id: home.id })
  Gitlab.edit_group('ruby-moved', description: 'At home too')
  same Gitlab.group('ruby-moves').full_path, 'ruby-home/ruby-moved'
  same [Gitlab.project(project.id).description, Gitlab.group(group.id).description], ['At home', 'At home too']
end

check('moved project: delete_project arrives') do
  same Gitlab.delete_project(OLD).message, '202 Accepted'
  same Gitlab.project(project.id).marked_for_deletion_on.nil?, false
end

exit($failures.zero? ? 0 : 1)
