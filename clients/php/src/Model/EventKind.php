<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum EventKind: string
{
    case SandboxCreated = 'sandbox.created';
    case SandboxStarted = 'sandbox.started';
    case SandboxPaused = 'sandbox.paused';
    case SandboxStopped = 'sandbox.stopped';
    case SandboxResumed = 'sandbox.resumed';
    case SandboxUpdated = 'sandbox.updated';
    case SandboxDied = 'sandbox.died';
    case SandboxOutOfMemory = 'sandbox.out_of_memory';
    case SandboxSilent = 'sandbox.silent';
    case SandboxAnswering = 'sandbox.answering';
    case SandboxFailed = 'sandbox.failed';
    case SandboxDeleted = 'sandbox.deleted';
    case SandboxDeadlineNear = 'sandbox.deadline_near';
    case CheckpointCreated = 'checkpoint.created';
    case CheckpointFailed = 'checkpoint.failed';
    case CheckpointDeleted = 'checkpoint.deleted';
    case TemplateBuilt = 'template.built';
    case TemplateFailed = 'template.failed';
    case NetworkApplied = 'network.applied';
    case NetworkDenied = 'network.denied';
    case NetworkApprovalRequested = 'network.approval_requested';
    case QuotaNear = 'quota.near';
    case QuotaRefused = 'quota.refused';
    case CleanupWarning = 'cleanup.warning';
    case MemberInvited = 'member.invited';
    case MemberDeclined = 'member.declined';
    case MemberAdded = 'member.added';
    case MemberRemoved = 'member.removed';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
