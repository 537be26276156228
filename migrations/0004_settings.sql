-- Levels of visibility are the numbers that namespaces and projects have.
alter table settings
  add constraint settings_default_projects_limit_positive check (default_projects_limit >= 0),
  add constraint settings_default_theme_id_known check (default_theme_id between 1 and 11),
  add constraint settings_password_minimum_length_range check (password_minimum_length between 8 and 128),
  -- Days between deleting a group or project and its end; with 0 there is no way back.
  add column deletion_adjourned_period integer not null default 7 constraint settings_deletion_adjourned_period_range
    check (deletion_adjourned_period between 0 and 90),
  add column default_project_visibility smallint not null default 0 constraint settings_default_project_visibility_known
    check (default_project_visibility in (0, 10, 20)),
  add column default_group_visibility smallint not null default 0 constraint settings_default_group_visibility_known
    check (default_group_visibility in (0, 10, 20)),
  add column restricted_visibility_levels smallint[] not null default '{}'
    constraint settings_restricted_visibility_levels_known check (restricted_visibility_levels <@ '{0,10,20}'::smallint[]),
  add column default_project_creation text not null default 'developer' constraint settings_default_project_creation_known
    check (default_project_creation in ('noone', 'owner', 'maintainer', 'developer', 'administrator')),
  add column default_branch_name text not null default 'main' constraint settings_default_branch_name_length
    check (length(default_branch_name) between 1 and 255),
  add column repository_storages_weighted jsonb not null default '{"default": 100}'
    constraint settings_repository_storages_weighted_usable check (
      jsonb_typeof(repository_storages_weighted) = 'object'
      and not jsonb_path_exists(repository_storages_weighted, '$.* ? (@.type() != "number" || @ < 0 || @ > 100)')
      and jsonb_path_exists(repository_storages_weighted, '$.* ? (@ > 0)')),
  -- Null leaves it to the offering.
  add column service_accounts_by_owners boolean,
  add column push_action_names text not null default 'plain' constraint settings_push_action_names_known
    check (push_action_names in ('plain', 'detailed')),
  add column generic_alert_fingerprinting boolean not null default true,
  -- Whether addresses that the instance connects to may be private, loopback or link-local.
  add column allow_local_requests_from_web_hooks_and_services boolean not null default false;
