-- An alert keeps the id of an integration that was deleted: to set that of a million alerts to null would be one long
-- transaction. Ids are not given again.
alter table alerts drop constraint alerts_integration_id_fkey;
