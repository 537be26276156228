-- When a row last changed, for `If-Unmodified-Since` on its deletion. Rows from before count as changed now, which only
-- refuses a deletion once too often.
alter table emails add column updated_at timestamptz(3) not null default now();
alter table identities add column updated_at timestamptz(3) not null default now();
alter table keys add column updated_at timestamptz(3) not null default now();
alter table members add column updated_at timestamptz(3) not null default now();
alter table user_custom_attributes add column updated_at timestamptz(3) not null default now();
