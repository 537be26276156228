-- Wrong passwords and codes by where they come from, so that nobody locks the owner of an account out from elsewhere. The
-- columns of users go on showing the last count and lock.
create table sign_in_attempts (
  user_id bigint not null constraint sign_in_attempts_user_id_fkey references users on delete cascade,
  -- A network, 'signed in' for those who prove their password again, or '' for all networks together.
  source text not null,
  failed integer not null,
  locked_until timestamptz(3),
  attempted_at timestamptz(3) not null default now(),
  primary key (user_id, source)
);
create index sign_in_attempts_by_age on sign_in_attempts (attempted_at);
