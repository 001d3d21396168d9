<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The calls of the API. */
enum Operation: string
{
    /** Create a sandbox. */
    case CreateSandbox = 'POST /v1/sandboxes';

    /** List sandboxes, newest first. */
    case ListSandboxes = 'GET /v1/sandboxes';

    /** Show a sandbox. */
    case ShowSandbox = 'GET /v1/sandboxes/{id}';

    /** Change metadata, timeout, lifecycle or public traffic. */
    case UpdateSandbox = 'PATCH /v1/sandboxes/{id}';

    /** Delete a sandbox in any state. */
    case DeleteSandbox = 'DELETE /v1/sandboxes/{id}';

    /** Stop a sandbox, keeping memory and disk. */
    case PauseSandbox = 'POST /v1/sandboxes/{id}/pause';

    /** Replace the disk and memory of a sandbox by those of a checkpoint. */
    case RollbackSandbox = 'POST /v1/sandboxes/{id}/rollback';

    /** Keep a sandbox from being paused as idle. */
    case HoldSandbox = 'PUT /v1/sandboxes/{id}/hold';

    /** End the hold of a sandbox. */
    case ReleaseSandbox = 'DELETE /v1/sandboxes/{id}/hold';

    /** Stop a sandbox, keeping memory and disk. */
    case StopSandbox = 'POST /v1/sandboxes/{id}/stop';

    /** Make a sandbox run, refresh its deadline, get a session. */
    case ResumeSandbox = 'POST /v1/sandboxes/{id}/resume';

    /** Make a sandbox run, refresh its deadline, get a session. */
    case ConnectSandbox = 'POST /v1/sandboxes/{id}/connect';

    /** Get an access token, and leave state and deadline as they are. */
    case CreateSession = 'POST /v1/sandboxes/{id}/sessions';

    /** End all access tokens that live as long as the sandbox. */
    case EndSessions = 'DELETE /v1/sandboxes/{id}/sessions';

    /** Show processor, memory and disk of a sandbox over time. */
    case ShowMetrics = 'GET /v1/sandboxes/{id}/metrics';

    /** List the output of a sandbox's processes. */
    case ListLogs = 'GET /v1/sandboxes/{id}/logs';

    /** Fork a sandbox. */
    case ForkSandbox = 'POST /v1/sandboxes/{id}/fork';

    /** List the services of a running sandbox. */
    case ListServices = 'GET /v1/sandboxes/{id}/services';

    /** Start a service again. */
    case RestartService = 'POST /v1/sandboxes/{id}/services/{service}/restart';

    /** List the exposed ports of a running sandbox. */
    case ListPorts = 'GET /v1/sandboxes/{id}/ports';

    /** Inspect an exposed port. */
    case ShowPort = 'GET /v1/sandboxes/{id}/ports/{port}';

    /** Expose a port of a running sandbox, or change it. */
    case ExposePort = 'PUT /v1/sandboxes/{id}/ports/{port}';

    /** Withdraw a port. */
    case WithdrawPort = 'DELETE /v1/sandboxes/{id}/ports/{port}';

    /** Show the network policy of a sandbox. */
    case ShowNetwork = 'GET /v1/sandboxes/{id}/network';

    /** Replace the network policy of a sandbox. */
    case ReplaceNetwork = 'PUT /v1/sandboxes/{id}/network';

    /** List the destinations that a sandbox asks for. */
    case ListApprovals = 'GET /v1/sandboxes/{id}/approvals';

    /** Allow or deny a destination that a sandbox asks for. */
    case AnswerApproval = 'POST /v1/sandboxes/{id}/approvals/{approval}';

    /** Explain whether the sandbox reaches a host and port. */
    case CheckNetwork = 'POST /v1/sandboxes/{id}/network/check';

    /** List recent refusals of a sandbox. */
    case ListDenials = 'GET /v1/sandboxes/{id}/network/denials';

    /** List the secrets of a team by name. */
    case ListSecrets = 'GET /v1/secrets';

    /** Show a secret without its value. */
    case ShowSecret = 'GET /v1/secrets/{name}';

    /** Create a secret, or change its value or hosts. */
    case PutSecret = 'PUT /v1/secrets/{name}';

    /** Delete a secret. */
    case DeleteSecret = 'DELETE /v1/secrets/{name}';

    /** Make a volume. */
    case CreateVolume = 'POST /v1/volumes';

    /** List volumes, newest first. */
    case ListVolumes = 'GET /v1/volumes';

    /** Show a volume. */
    case ShowVolume = 'GET /v1/volumes/{id}';

    /** Delete a volume with its files. */
    case DeleteVolume = 'DELETE /v1/volumes/{id}';

    /** Write a file. */
    case WriteVolumeFile = 'PUT /v1/volumes/{id}/files';

    /** Read a file. */
    case ReadVolumeFile = 'GET /v1/volumes/{id}/files';

    /** Make a directory, with those above it. */
    case MakeVolumeDirectory = 'PUT /v1/volumes/{id}/directories';

    /** List a directory. */
    case ListVolumeDirectory = 'GET /v1/volumes/{id}/directories';

    /** Show a file or directory. */
    case ShowVolumePath = 'GET /v1/volumes/{id}/path';

    /** Change mode and owner of a file or directory. */
    case UpdateVolumePath = 'PATCH /v1/volumes/{id}/path';

    /** Delete a file or directory. */
    case RemoveVolumePath = 'DELETE /v1/volumes/{id}/path';

    /** Move or rename. */
    case MoveVolumePath = 'POST /v1/volumes/{id}/path';

    /** Keep a copy of a sandbox's disk, or of its disk and memory. */
    case CreateCheckpoint = 'POST /v1/sandboxes/{id}/checkpoints';

    /** List checkpoints, newest first. */
    case ListCheckpoints = 'GET /v1/checkpoints';

    /** Show a checkpoint. */
    case ShowCheckpoint = 'GET /v1/checkpoints/{id}';

    /** Delete a checkpoint. */
    case DeleteCheckpoint = 'DELETE /v1/checkpoints/{id}';

    /** List the templates that a team sees. */
    case ListTemplates = 'GET /v1/templates';

    /** Build a template from a checkpoint, an image or another template. */
    case CreateTemplate = 'POST /v1/templates';

    /** Show a template. */
    case ShowTemplate = 'GET /v1/templates/{slug}';

    /** Let other teams use a template, or not. */
    case UpdateTemplate = 'PATCH /v1/templates/{slug}';

    /** Delete a template with all its versions. */
    case DeleteTemplate = 'DELETE /v1/templates/{slug}';

    /** List the versions of a template, newest first. */
    case ListTemplateVersions = 'GET /v1/templates/{slug}/versions';

    /** Build the next version of a template. */
    case CreateTemplateVersion = 'POST /v1/templates/{slug}/versions';

    /** Show a version with the log of its build. */
    case ShowTemplateVersion = 'GET /v1/templates/{slug}/versions/{version}';

    /** Delete a version of a template. */
    case DeleteTemplateVersion = 'DELETE /v1/templates/{slug}/versions/{version}';

    /** List the tags of a template. */
    case ListTemplateTags = 'GET /v1/templates/{slug}/tags';

    /** Let a tag point to a version of a template. */
    case AssignTemplateTag = 'PUT /v1/templates/{slug}/tags/{tag}';

    /** Remove a tag of a template. */
    case RemoveTemplateTag = 'DELETE /v1/templates/{slug}/tags/{tag}';

    /** Upload an archive for steps that copy. */
    case UploadTemplateFile = 'PUT /v1/template_files/{hash}';

    /** Show the user, the key or sign-in, and the teams that it reaches. */
    case ShowMe = 'GET /v1/me';

    /** List the teams that the key reaches. */
    case ListTeams = 'GET /v1/teams';

    /** List the API keys of the key's user. */
    case ListKeys = 'GET /v1/keys';

    /** Make an API key; it is shown once. */
    case CreateKey = 'POST /v1/keys';

    /** Revoke an API key at once. */
    case RevokeKey = 'DELETE /v1/keys/{id}';

    /** List the SSH keys of the key's user. */
    case ListSshKeys = 'GET /v1/ssh_keys';

    /** Let a public key sign in over SSH. */
    case CreateSshKey = 'POST /v1/ssh_keys';

    /** Delete an SSH key at once. */
    case RevokeSshKey = 'DELETE /v1/ssh_keys/{id}';

    /** Limits, plans, prices and quota of a team. */
    case ShowLimits = 'GET /v1/sandbox_limits';

    /** Show the usage of a team. */
    case ShowUsage = 'GET /v1/usage';

    /** List the audit log of a team, newest first. */
    case ListAudit = 'GET /v1/audit';

    /** List the members of a team. */
    case ListMembers = 'GET /v1/teams/{slug}/members';

    /** Give a member another role. */
    case UpdateMember = 'PATCH /v1/teams/{slug}/members/{name}';

    /** Take a member out of a team. */
    case RemoveMember = 'DELETE /v1/teams/{slug}/members/{name}';

    /** List the open invitations into a team. */
    case ListTeamInvitations = 'GET /v1/teams/{slug}/invitations';

    /** Invite a user into a team. */
    case InviteMember = 'POST /v1/teams/{slug}/invitations';

    /** Withdraw an invitation. */
    case WithdrawInvitation = 'DELETE /v1/teams/{slug}/invitations/{name}';

    /** List the invitations to the own user. */
    case ListInvitations = 'GET /v1/invitations';

    /** Accept an invitation. */
    case AcceptInvitation = 'POST /v1/invitations/{slug}/accept';

    /** Decline an invitation. */
    case DeclineInvitation = 'POST /v1/invitations/{slug}/decline';

    /** List the keys that reach a team. */
    case ListTeamKeys = 'GET /v1/teams/{slug}/keys';

    /** Exclude a member's key from a team. */
    case RevokeTeamKey = 'DELETE /v1/teams/{slug}/keys/{id}';

    /** Show the ways to sign in. */
    case ShowLogin = 'GET /v1/login';

    /** Sign in with name and password. */
    case Login = 'POST /v1/login';

    /** Sign in with the name from a proxy. */
    case LoginByHeader = 'POST /v1/login/header';

    /** Go to the identity provider to sign in. */
    case BeginOidc = 'GET /v1/login/oidc';

    /** Come back from the identity provider. */
    case FinishOidc = 'GET /v1/login/oidc/callback';

    /** Set the first password, and sign in with it. */
    case AcceptInvite = 'POST /v1/invites/accept';

    /** Sign out. */
    case Logout = 'POST /v1/logout';

    /** List where the user is signed in. */
    case ListLogins = 'GET /v1/logins';

    /** End one of the user's sign-ins. */
    case EndLogin = 'DELETE /v1/logins/{id}';

    /** Change the password. */
    case ChangePassword = 'PUT /v1/me/password';

    /** Get a secret for codes as a second factor. */
    case BeginTotp = 'POST /v1/me/totp';

    /** Turn the second factor off. */
    case EndTotp = 'DELETE /v1/me/totp';

    /** Turn the second factor on with its first code. */
    case ConfirmTotp = 'POST /v1/me/totp/confirm';

    /** Start a login that a user confirms in the console. */
    case AuthorizeDevice = 'POST /v1/device/authorize';

    /** Ask whether the login is confirmed, and take its key. */
    case TakeDeviceKey = 'POST /v1/device/token';

    /** Show the program that waits with a code. */
    case ShowDevice = 'GET /v1/devices/{code}';

    /** Confirm the program's login, or refuse it. */
    case AnswerDevice = 'POST /v1/devices/{code}';

    /** Show the state of the deployment. */
    case ShowStatus = 'GET /v1/operator/status';

    /** Show the findings of the doctor. */
    case ShowDoctor = 'GET /v1/operator/doctor';

    /** List all teams. */
    case ListAllTeams = 'GET /v1/operator/teams';

    /** Put a team on another plan. */
    case UpdateTeam = 'PATCH /v1/operator/teams/{slug}';

    /** Drain or activate a host. */
    case UpdateHost = 'PATCH /v1/operator/hosts/{name}';

    /** Change values of a plan. */
    case UpdatePlan = 'PATCH /v1/operator/plans/{name}';

    /** Join as a host. */
    case JoinHost = 'POST /v1/host-joins';

    /** List events, oldest first, or wait for the next. */
    case ListEvents = 'GET /v1/events';

    /** Create a webhook. */
    case CreateWebhook = 'POST /v1/webhooks';

    /** List webhooks, newest first. */
    case ListWebhooks = 'GET /v1/webhooks';

    /** Show a webhook. */
    case ShowWebhook = 'GET /v1/webhooks/{id}';

    /** Change a webhook. */
    case UpdateWebhook = 'PATCH /v1/webhooks/{id}';

    /** Delete a webhook and its messages. */
    case DeleteWebhook = 'DELETE /v1/webhooks/{id}';

    /** Make a new secret; the old one signs too for a day. */
    case RotateWebhook = 'POST /v1/webhooks/{id}/rotate';

    /** Send a test message, once. */
    case TestWebhook = 'POST /v1/webhooks/{id}/test';

    /** List waiting and dead messages, and tests, newest first. */
    case ListWebhookMessages = 'GET /v1/webhooks/{id}/messages';

    /** Show a message. */
    case ShowWebhookMessage = 'GET /v1/webhooks/{id}/messages/{message}';

    /** Send a dead letter again. */
    case ResendWebhookMessage = 'POST /v1/webhooks/{id}/messages/{message}/resend';
}
