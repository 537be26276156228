# Deploy keys and repositories with ruby-gitlab 4.17.
require_relative 'ruby_support'
require 'base64'
require 'tmpdir'

NOWHERE = 999_999_999
NotFound, BadRequest = Gitlab::Error::NotFound, Gitlab::Error::BadRequest

keeper, keepers = crew('ruby-keeper')
hull = Gitlab.create_project('Ruby Keys')
mast = Gitlab.create_project('Ruby Mast')
own = keepers.create_project('Ruby Own')
key = nil

def new_key(comment)
  Dir.mktmpdir do |folder|
    system('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', comment, '-f', "#{folder}/key", exception: true)
    File.read("#{folder}/key.pub")
  end
end

line = new_key('hull@ruby')

check('deploy keys: create_deploy_key, and the key comes back as it was but for the newline') do
  key = Gitlab.create_deploy_key(hull.id, 'Hull', line, can_push: true)
  same [key.title, key.key, key.can_push], ['Hull', line.strip, true]
end

check('deploy keys: deploy_keys, deploy_key and what is not there') do
  same ids(Gitlab.deploy_keys(hull.path_with_namespace)), [key.id]
  same Gitlab.deploy_key(hull.id, key.id).to_h, key.to_h
  refused(NotFound, '404 Not found') { Gitlab.deploy_key(hull.id, NOWHERE) }
  refused(NotFound, '404 Project Not Found') { keepers.deploy_keys(hull.id) }
end

check('deploy keys: edit_deploy_key') do
  edited = Gitlab.edit_deploy_key(hull.id, key.id, 'Hull 2', can_push: false)
  same [edited.title, edited.can_push], ['Hull 2', false]
end

check('deploy keys: enable_deploy_key in another project, and refused where the key cannot be seen') do
  same Gitlab.enable_deploy_key(mast.id, key.id).id, key.id
  same ids(Gitlab.deploy_keys(mast.id)), [key.id]
  refused(NotFound, '404 Deploy key Not Found') { keepers.enable_deploy_key(own.id, key.id) }
  refused(BadRequest, 'has already been taken') { keepers.create_deploy_key(own.id, 'Mine', line) }
end

check('deploy keys: key finds who added one') do
  same Gitlab.key(key.id).user.username, 'root'
end

check('deploy keys: disable_deploy_key and delete_deploy_key') do
  same Gitlab.disable_deploy_key(mast.id, key.id).id, key.id
  same Gitlab.deploy_keys(mast.id).size, 0
  Gitlab.delete_deploy_key(hull.id, key.id)
  same Gitlab.deploy_keys(hull.id).size, 0
  refused(NotFound, '404 Deploy key Not Found') { Gitlab.delete_deploy_key(hull.id, key.id) }
end

check('commits: create_commit is the first of a repository') do
  actions = [
    { action: 'create', file_path: 'README.md', content: "# Hull\n" },
    { action: 'create', file_path: 'docs/plan.txt', content: "one\n" }
  ]
  made = Gitlab.create_commit(hull.id, 'main', 'First', actions)
  same [made.title, made.parent_ids], ['First', []]
end

check('repository: tree, of a folder and recursive') do
  same Gitlab.tree(hull.id).map { |each| [each.type, each.path] }, [%w[tree docs], %w[blob README.md]]
  same Gitlab.tree(hull.id, path: 'docs', ref: 'main').map(&:path), ['docs/plan.txt']
  same Gitlab.tree(hull.id, recursive: true, per_page: 1).auto_paginate.size, 3
end

check('files: create_file, get_file, file_contents, edit_file and remove_file') do
  made = Gitlab.create_file(hull.id, 'docs/next.txt', 'main', "two\n", 'Second')
  same [made.file_path, made.branch], ['docs/next.txt', 'main']
  same Base64.decode64(Gitlab.get_file(hull.id, 'docs/next.txt', 'main').content), "two\n"
  same Gitlab.file_contents(hull.id, 'docs/next.txt', 'main'), "two\n"
  Gitlab.edit_file(hull.id, 'README.md', 'main', "# Keel\n", 'Third')
  same Gitlab.file_contents(hull.id, 'README.md', 'main'), "# Keel\n"
  Gitlab.remove_file(hull.id, 'docs/next.txt', 'main', 'Fourth')
  refused(NotFound) { Gitlab.get_file(hull.id, 'docs/next.txt', 'main') }
end

check('branches: create_branch, branches, branch and delete_branch') do
  made = Gitlab.create_branch(hull.id, 'feature/sail', 'main')
  same [made.name, made.default], ['feature/sail', false]
  same Gitlab.branches(hull.id).map(&:name).sort, ['feature/sail', 'main']
  same Gitlab.branch(hull.id, 'feature/sail').commit.id, Gitlab.branch(hull.id, 'main').commit.id
  Gitlab.create_branch(hull.id, 'gone', 'main')
  Gitlab.delete_branch(hull.id, 'gone')
  refused(NotFound) { Gitlab.branch(hull.id, 'gone') }
end

check('tags: create_tag, tags, tag and delete_tag') do
  same Gitlab.create_tag(hull.id, 'v1.0', 'main', 'One').message, 'One'
  Gitlab.create_tag(hull.id, 'v0', 'main')
  same Gitlab.tag(hull.id, 'v0').name, 'v0'
  Gitlab.delete_tag(hull.id, 'v0')
  same Gitlab.tags(hull.id).map(&:name), ['v1.0']
end

check('commits: commits, commit, commit_diff and commit_refs') do
  actions = [{ action: 'create', file_path: 'sail.txt', content: "white\n" }]
  made = Gitlab.create_commit(hull.id, 'feature/sail', 'Sail', actions)
  same Gitlab.commits(hull.id, ref_name: 'feature/sail').first.id, made.id
  same Gitlab.commit(hull.id, made.id).title, 'Sail'
  same Gitlab.commit_diff(hull.id, made.id).map(&:new_path), ['sail.txt']
  same Gitlab.commit_refs(hull.id, made.id, type: 'branch').map(&:name), ['feature/sail']
  same Gitlab.cherry_pick_commit(hull.id, made.id, 'main').title, 'Sail'
end

check('repository: compare and merge_base') do
  compared = Gitlab.compare(hull.id, 'v1.0', 'feature/sail')
  same compared.commits.map { |each| each['title'] }, ['Sail']
  same Gitlab.merge_base(hull.id, %w[main feature/sail]).id, Gitlab.tag(hull.id, 'v1.0').commit.id
end

check('repository: repo_archive') do
  archive = Gitlab.repo_archive(hull.id, 'main', 'zip')
  same archive.to_h[:data].read(2), 'PK'
end

exit($failures.zero? ? 0 : 1)
