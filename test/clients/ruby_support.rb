# What the scripts for ruby-gitlab share.
require 'gitlab'
require 'net/http'
require 'securerandom'
require 'tempfile'
require 'zlib'

URL = ENV.fetch('FAIRLEAD_URL')
TOKEN = ENV.fetch('FAIRLEAD_TOKEN')
PER_PAGE = 5

Gitlab.configure do |config|
  config.endpoint = "#{URL}/api/v4"
  config.private_token = TOKEN
end

$stdout.sync = true
$failures = 0

def check(name)
  yield
  puts "ok #{name}"
rescue StandardError => e
  $failures += 1
  puts "not ok #{name}: #{e.class}: #{e.message}".split.join(' ')
end

# What is found at last, looked for during ten seconds.
def eventually
  100.times do
    found = yield
    return found if found
    sleep 0.1
  end
  nil
end

def same(actual, expected)
  raise "got #{actual.inspect}, expected #{expected.inspect}" unless actual == expected
end

def refused(error, text = '')
  yield
rescue error => e
  raise "got #{e.message.inspect}, expected it to say #{text.inspect}" unless e.message.include?(text)
else
  raise "was not refused with #{error}"
end

# A whole PNG of 8 by 8 pixels in one colour.
def png(*colour)
  chunk = ->(kind, data) { [data.bytesize].pack('N') + kind + data + [Zlib.crc32(kind + data)].pack('N') }
  rows = ([0] + colour * 8).pack('C*') * 8
  "\x89PNG\r\n\x1A\n".b + chunk.call('IHDR'.b, [8, 8, 8, 2, 0, 0, 0].pack('NNC5')) +
    chunk.call('IDAT'.b, Zlib.deflate(rows)) + chunk.call('IEND'.b, ''.b)
end

def picture(data)
  Tempfile.create(['avatar', '.png'], binmode: true) do |file|
    file.write(data)
    file.rewind
    yield file
  end
end

def client(token)
  Gitlab.client(endpoint: "#{URL}/api/v4", private_token: token)
end

# A user of a script's own and a client that is signed in as that user.
def crew(username)
  options = { name: "Name of #{username}", skip_confirmation: true, force_random_password: true }
  user = Gitlab.create_user("#{username}@example.com", SecureRandom.hex(16), username, options)
  token = Gitlab.post("/users/#{user.id}/personal_access_tokens", body: { name: 'crew', scopes: ['api'] })
  [user, client(token.token)]
end

# The sudo of a client holds for the whole class until another client is made; the module makes one for each call.
def as_user(name)
  Gitlab.sudo = name
  yield
ensure
  Gitlab.sudo = nil
end

def ids(found)
  found.map(&:id)
end
