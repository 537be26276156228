# ruby-gitlab 4.17 against a running server, called the way its documentation shows.
require 'date'
require_relative 'ruby_support'

PEOPLE = 12
IN_30_DAYS = (Date.today + 30).iso8601

def create(number, options = {})
  username = format('ruby-%02d', number)
  options = { name: format('Rubyist Number%02d', number), skip_confirmation: true, **options }
  Gitlab.create_user("#{username}@example.com", SecureRandom.hex(16), username, options)
end

people = []
token = rotated = nil

check('sign-in: user reads the current user by Bearer') do
  user = Gitlab.user
  same [user.id, user.username, user.is_admin, user.web_url], [1, 'root', true, "#{URL}/root"]
end

check('sign-in: a wrong token is Unauthorized, sent either way') do
  refused(Gitlab::Error::Unauthorized, '401 Unauthorized') { client('flpat-long-but-wrong-token').user }
  refused(Gitlab::Error::Unauthorized, '401 Unauthorized') { client('short').user }
  refused(Gitlab::Error::Unauthorized) { Gitlab.get('/user', unauthenticated: true) }
end

check('version: version and /metadata agree') do
  version = Gitlab.version
  metadata = Gitlab.get('/metadata')
  same [version.version, metadata.version, metadata.revision], ['18.2.0', '18.2.0', version.revision]
end

check('create: create_user answers the whole user') do
  PEOPLE.times { |index| people << create(index + 1) }
  first = people.first
  same [first.username, first.name, first.email], ['ruby-01', 'Rubyist Number01', 'ruby-01@example.com']
  same [first.state, first.is_admin, first.created_by.username], ['active', false, 'root']
  same people.map(&:id).uniq.size, PEOPLE
end

check('create: the name is the email when none is given') do
  same Gitlab.create_user('ruby-91@example.com', SecureRandom.hex(16), 'ruby-91').name, 'ruby-91@example.com'
end

check('create: a taken username or email is a Conflict') do
  refused(Gitlab::Error::Conflict, 'Email has already been taken') { create(92, email: 'ruby-01@example.com') }
  refused(Gitlab::Error::Conflict, 'Username has already been taken') { create(92, username: 'Ruby-01') }
end

check('create: parameter and validation errors can be read') do
  refused(Gitlab::Error::BadRequest, 'email is missing') { Gitlab.post('/users', body: { name: 'x', username: 'x' }) }
  refused(Gitlab::Error::BadRequest, "'password' is too short") { create(92, password: 'short') }
end

check('get: user(id) and the NotFound of an unknown id') do
  same Gitlab.user(people.first.id).email, 'ruby-01@example.com'
  refused(Gitlab::Error::NotFound, '404 User Not Found') { Gitlab.user(999_999_999) }
end

check('list by offset: pages are followed by their links') do
  page = Gitlab.users(search: 'Rubyist', order_by: 'id', sort: 'asc', per_page: PER_PAGE)
  same [page.size, page.has_next_page?, page.has_prev_page?], [PER_PAGE, true, false]
  same page.next_page.map(&:id), people[5, 5].map(&:id)
  last = page.last_page
  same [last.size, last.has_next_page?, last.has_prev_page?], [2, false, true]
  same last.prev_page.first_page.map(&:id), people[0, 5].map(&:id)
  same Gitlab.users(search: 'Rubyist', page: 9, per_page: PER_PAGE).size, 0
end

check('list by offset: auto_paginate, each_page and paginate_with_limit') do
  page = Gitlab.users(search: 'Rubyist', order_by: 'id', sort: 'asc', per_page: PER_PAGE)
  same page.auto_paginate.map(&:id), people.map(&:id)
  sizes = []
  page.each_page { |each| sizes << each.size }
  same sizes, [5, 5, 2]
  same page.paginate_with_limit(7).map(&:id), people[0, 7].map(&:id)
end

check('list by keyset: auto_paginate sees every row once') do
  everybody = Gitlab.users(per_page: 100).auto_paginate.map(&:id).sort
  keyset = { pagination: 'keyset', per_page: PER_PAGE }
  same Gitlab.users(**keyset).auto_paginate.map(&:id), everybody.reverse
  same Gitlab.users(order_by: 'id', sort: 'asc', **keyset).auto_paginate.map(&:id), everybody
  by_name = Gitlab.users(search: 'Rubyist', order_by: 'name', sort: 'asc', **keyset).auto_paginate
  same by_name.map(&:id), people.map(&:id)
end

check('search: user_search by name, username and email') do
  ['rubyist number07', 'ruby-07', 'ruby-07@example.com'].each do |words|
    same Gitlab.user_search(words).map(&:username), ['ruby-07']
  end
  same Gitlab.user_search('Rubyist', per_page: PER_PAGE).size, PER_PAGE
  same Gitlab.users(username: 'RUBY-07').map(&:username), ['ruby-07']
  same Gitlab.user_search('nobody at all').size, 0
end

check('filters: blocked, active and external') do
  blocked = Gitlab.users(blocked: true).auto_paginate.map(&:username)
  active = Gitlab.users(active: true).auto_paginate.map(&:username)
  same [blocked.include?('fixture-blocked'), blocked.include?('ruby-01')], [true, false]
  same [active.include?('fixture-blocked'), active.include?('ruby-01')], [false, true]
  create(93, name: 'Outsider 93', external: true)
  same Gitlab.users(external: true, username: 'ruby-93').size, 1
  same Gitlab.users(exclude_external: true, username: 'ruby-93').size, 0
end

check('filters: custom_attributes as a hash') do
  same Gitlab.users(custom_attributes: { desk: 'window' }).map(&:username), ['fixture-window']
  door = Gitlab.users(username: 'fixture-door', with_custom_attributes: true).first
  same door.custom_attributes.map(&:to_h), [{ 'key' => 'desk', 'value' => 'door' }]
end

check('save: edit_user changes what its form names') do
  fields = { bio: 'Polishes gems', projects_limit: 7, can_create_group: false, email: people[1].email }
  edited = Gitlab.edit_user(people[1].id, fields)
  same [edited.bio, edited.projects_limit, edited.can_create_group], ['Polishes gems', 7, false]
  again = Gitlab.user(people[1].id)
  same [again.bio, again.email, again.name], ['Polishes gems', people[1].email, people[1].name]
end

check('save: a taken username is a Conflict, an unknown user NotFound') do
  refused(Gitlab::Error::Conflict, 'Username has already been taken') do
    Gitlab.edit_user(people[1].id, username: 'ruby-01')
  end
  refused(Gitlab::Error::NotFound, '404 User Not Found') { Gitlab.edit_user(999_999_999, name: 'x') }
end

check('save: boolean forms true, false, 1, 0 and True') do
  { 'true' => true, 'false' => false, 1 => true, 0 => false, 'True' => true, false => false }.each do |form, value|
    same Gitlab.edit_user(people[2].id, private_profile: form).private_profile, value
  end
  refused(Gitlab::Error::BadRequest, 'external is invalid') { Gitlab.edit_user(people[2].id, external: 'perhaps') }
end

check('avatar: a file in edit_user uploads it, and it can be fetched') do
  data = png(0, 200, 0)
  user = picture(data) { |file| Gitlab.edit_user(people[3].id, avatar: file, bio: 'With a face', external: true) }
  same [user.bio, user.external], ['With a face', true]
  same user.avatar_url.start_with?("#{URL}/uploads/-/system/user/avatar/#{user.id}/"), true
  answer = Net::HTTP.get_response(URI(user.avatar_url))
  same [answer.code, answer['Content-Type'], answer.body.b == data], ['200', 'image/png', true]
end

check('avatar: what is not an image is refused') do
  refused(Gitlab::Error::BadRequest) { picture('just words') { |file| Gitlab.edit_user(people[3].id, avatar: file) } }
end

check('tokens: an administrator makes one for a user, who signs in with it') do
  body = { name: 'ruby', scopes: %w[api read_user], expires_at: IN_30_DAYS }
  token = Gitlab.post("/users/#{people.first.id}/personal_access_tokens", body: body)
  same [token.scopes, token.expires_at, token.active], [%w[api read_user], IN_30_DAYS, true]
  same client(token.token).user.username, 'ruby-01'
end

check('tokens: list, by id and self') do
  found = Gitlab.get('/personal_access_tokens', query: { user_id: people.first.id, state: 'active' })
  same found.map { |each| [each.id, each.name, each['token']] }, [[token.id, 'ruby', nil]]
  same Gitlab.get("/personal_access_tokens/#{token.id}").user_id, people.first.id
  same client(token.token).get('/personal_access_tokens/self').id, token.id
  refused(Gitlab::Error::NotFound) { Gitlab.get('/personal_access_tokens/999999999') }
end

check('tokens: a user makes one of a narrow scope, and only of that') do
  user = client(token.token)
  narrow = user.post('/user/personal_access_tokens', body: { name: 'cluster', scopes: ['k8s_proxy'] })
  same narrow.scopes, ['k8s_proxy']
  refused(Gitlab::Error::Forbidden, 'higher privileges') { client(narrow.token).user }
  refused(Gitlab::Error::BadRequest) { user.post('/user/personal_access_tokens', body: { name: 'x', scopes: ['api'] }) }
end

check('tokens: rotate gives a new secret and ends the old one') do
  rotated = Gitlab.post("/personal_access_tokens/#{token.id}/rotate", body: { expires_at: IN_30_DAYS })
  same [rotated.id == token.id, rotated.token == token.token, rotated.scopes], [false, false, token.scopes]
  refused(Gitlab::Error::Unauthorized, 'Token was revoked') { client(token.token).user }
  same client(rotated.token).user.id, people.first.id
end

check('tokens: a self_rotate token rotates itself') do
  body = { name: 'turning', scopes: 'self_rotate' }
  turning = client(rotated.token).post('/user/personal_access_tokens', body: body)
  same client(turning.token).post('/personal_access_tokens/self/rotate').scopes, ['self_rotate']
  refused(Gitlab::Error::Unauthorized) { client(turning.token).user }
end

check('tokens: delete revokes, and the token is refused') do
  Gitlab.delete("/personal_access_tokens/#{rotated.id}")
  refused(Gitlab::Error::Unauthorized, 'Token was revoked') { client(rotated.token).user }
  same Gitlab.get("/personal_access_tokens/#{rotated.id}").revoked, true
end

check('sudo: by username and by id, with the rights of that user') do
  ['ruby-05', people[4].id].each { |who| same as_user(who) { Gitlab.user }.id, people[4].id }
  same as_user('ruby-05') { Gitlab.users(username: 'ruby-01') }.first['email'], nil
  refused(Gitlab::Error::Forbidden, '403 Forbidden') { as_user('ruby-05') { create(94) } }
  refused(Gitlab::Error::NotFound) { as_user('nobody-at-all') { Gitlab.user } }
  same Gitlab.user.username, 'root'
end

exit($failures.zero? ? 0 : 1)
