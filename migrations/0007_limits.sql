alter table settings
  -- Service accounts that a group may have; 0 is no limit.
  add column group_service_accounts_limit integer not null default 100
    constraint settings_group_service_accounts_limit_positive check (group_service_accounts_limit >= 0);

-- Truncating passes triggers for rows, and one of a partition passes those of its table.
create trigger audit_events_no_truncate before truncate on audit_events execute function refuse_change();
do $$
declare
  partition regclass;
begin
  for partition in select inhrelid::regclass from pg_inherits where inhparent = 'audit_events'::regclass loop
    execute format('create trigger no_truncate before truncate on %s execute function refuse_change()', partition);
  end loop;
end $$;

-- What the repository takes on disk, as of its last push or packing.
alter table repositories add column size_bytes bigint not null default 0;

alter table settings
  -- What the repositories of the projects that one user created may take together; 0 is no limit.
  add column user_storage_limit_bytes bigint not null default 21474836480
    constraint settings_user_storage_limit_bytes_positive check (user_storage_limit_bytes >= 0);
