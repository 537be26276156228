alter table settings
  -- Service accounts that a group may have; 0 is no limit.
  add column group_service_accounts_limit integer not null default 100
    constraint settings_group_service_accounts_limit_positive check (group_service_accounts_limit >= 0);
