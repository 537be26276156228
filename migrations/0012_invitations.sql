-- A link may also invite somebody to choose their first password.
alter table mailed_links
  drop constraint mailed_links_purpose_known,
  add constraint mailed_links_purpose_known check (purpose in ('confirm', 'reset', 'invite'));
