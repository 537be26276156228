"""Notification settings and subscriptions with python-gitlab 3.12, which cannot subscribe to an epic."""
from gitlab.exceptions import GitlabUpdateError
from python_support import check, client, end, person, refused, same

gl = client()
mate = gl.users.create(person("python-lookout"))
mates = client(mate.personal_access_tokens.create({"name": "mate", "scopes": ["api"]}).token)
group = gl.groups.create({"name": "Python Lookouts", "path": "python-lookouts", "visibility": "public"})
project = gl.projects.create({"name": "Python Mast", "namespace_id": group.id, "visibility": "public"})
issue = project.issues.create({"title": "Fog"})

with check("notificationsettings: everywhere"):
    settings = mates.notificationsettings.get()
    same((settings.level, settings.notification_email), ("participating", mate.email))
    settings.level = "watch"
    settings.save()
    same(mates.notificationsettings.get().level, "watch")
    mates.notificationsettings.update(new_data={"level": "mention"})
    same(mates.notificationsettings.get().level, "mention")
    foreign = lambda: mates.notificationsettings.update(new_data={"notification_email": "root@example.com"})
    refused(GitlabUpdateError, 400, foreign, "is not an email you own")

with check("notificationsettings: of a group and a project"):
    for place in (mates.groups.get(group.id), mates.projects.get(project.id)):
        settings = place.notificationsettings.get()
        same(settings.level, "global")
        settings.level = "disabled"
        settings.save()
        same(place.notificationsettings.get().level, "disabled")
        settings.level = "global"
        settings.save()
        same(place.notificationsettings.get().level, "global")

with check("notificationsettings: single events cannot be chosen"):
    custom = lambda: mates.notificationsettings.update(new_data={"level": "custom", "new_note": True})
    refused(GitlabUpdateError, 400, custom, "level does not have a valid value")

with check("issues: subscribe() and unsubscribe()"):
    own = mates.projects.get(project.id).issues.get(issue.iid)
    same(own.subscribed, False)
    own.subscribe()
    same(own.subscribed, True)
    own.unsubscribe()
    same(mates.projects.get(project.id).issues.get(issue.iid).subscribed, False)

end()
