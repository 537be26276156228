# ruby-gitlab 4.17: states, addresses and keys of users.
require_relative 'ruby_support'

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI#{'M' * 43} ruby@example.com".freeze
user, own = crew('ruby-identity')

check('states: block_user and unblock_user') do
  Gitlab.block_user(user.id)
  same Gitlab.user(user.id).state, 'blocked'
  refused(Gitlab::Error::Forbidden, 'blocked') { own.user }
  Gitlab.unblock_user(user.id)
  same own.user.id, user.id
end

check('addresses: an administrator adds one for a user, confirmed') do
  email = Gitlab.add_email('ruby-second@example.com', user.id, true)
  same Gitlab.emails(user.id).map(&:email), ['ruby-second@example.com']
  Gitlab.delete_email(email.id, user.id)
  same Gitlab.emails(user.id).map(&:email), []
end

check('addresses: one\'s own') do
  email = own.add_email('ruby-third@example.com')
  same own.email(email.id).email, 'ruby-third@example.com'
  own.delete_email(email.id)
  same own.emails.map(&:email), []
end

check('keys: made, listed, read and deleted') do
  key = own.create_ssh_key('laptop', KEY)
  same [key.title, key.key], ['laptop', KEY]
  same ids(own.ssh_keys), [key.id]
  same own.ssh_key(key.id).title, 'laptop'
  same ids(Gitlab.ssh_keys(user_id: user.id)), [key.id]
  same Gitlab.key(key.id).user.username, 'ruby-identity'
  refused(Gitlab::Error::BadRequest, 'taken') { Gitlab.create_ssh_key('again', KEY) }
  own.delete_ssh_key(key.id)
  same own.ssh_keys.to_a, []
end

check('keys: an administrator gives a user one') do
  key = Gitlab.create_ssh_key('given', KEY, user_id: user.id)
  same ids(own.ssh_keys), [key.id]
  Gitlab.delete_ssh_key(key.id, user_id: user.id)
end

check('service accounts: by raw calls, as this client has no methods for them') do
  group = Gitlab.create_group('Ruby identity', 'ruby-identity-group')
  account = Gitlab.post("/groups/#{group.id}/service_accounts", body: { name: 'Robot' })
  path = "/groups/#{group.id}/service_accounts/#{account.id}/personal_access_tokens"
  first = Gitlab.post(path, body: { name: 'deploy', scopes: ['api'] })
  second = Gitlab.post("#{path}/#{first.id}/rotate")
  same client(second.token).user.username, account.username
  refused(Gitlab::Error::Unauthorized) { client(first.token).user }
end

check('delete: delete_user, and the user is gone soon after') do
  Gitlab.delete_user(user.id)
  gone = eventually do
    Gitlab.user(user.id) && false
  rescue Gitlab::Error::NotFound
    true
  end
  same gone, true
end

exit($failures.zero? ? 0 : 1)
