<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The error, from a closed table. */
enum ErrorCode: string
{
    case AccessDenied = 'access_denied';
    case AuthorizationPending = 'authorization_pending';
    case BodyTooLarge = 'body_too_large';
    case BuildQuotaExceeded = 'build_quota_exceeded';
    case CheckpointQuotaExceeded = 'checkpoint_quota_exceeded';
    case ExpiredToken = 'expired_token';
    case HookFailed = 'hook_failed';
    case IdempotencyKeyReused = 'idempotency_key_reused';
    case InsufficientScope = 'insufficient_scope';
    case InsufficientStorage = 'insufficient_storage';
    case Internal = 'internal';
    case InvalidCredentials = 'invalid_credentials';
    case InvalidJson = 'invalid_json';
    case InvalidNextToken = 'invalid_next_token';
    case InvalidRequest = 'invalid_request';
    case LastOwner = 'last_owner';
    case MemoryNotKept = 'memory_not_kept';
    case MethodNotAllowed = 'method_not_allowed';
    case NameTaken = 'name_taken';
    case NoCapacity = 'no_capacity';
    case NotFound = 'not_found';
    case NotServed = 'not_served';
    case PlanRestrictsResources = 'plan_restricts_resources';
    case PreconditionFailed = 'precondition_failed';
    case RateLimited = 'rate_limited';
    case RequestInProgress = 'request_in_progress';
    case RuntimeUnavailable = 'runtime_unavailable';
    case SandboxBusy = 'sandbox_busy';
    case SandboxNotRunning = 'sandbox_not_running';
    case SandboxNotStartable = 'sandbox_not_startable';
    case SandboxQuotaExceeded = 'sandbox_quota_exceeded';
    case SecondFactorRequired = 'second_factor_required';
    case SlowDown = 'slow_down';
    case StoppedQuotaExceeded = 'stopped_quota_exceeded';
    case TeamForbidden = 'team_forbidden';
    case TemplateInUse = 'template_in_use';
    case TemplateNotFound = 'template_not_found';
    case Unauthorized = 'unauthorized';
    case UnsupportedMediaType = 'unsupported_media_type';
    case VolumeAttached = 'volume_attached';
    case VolumeNotFound = 'volume_not_found';
    case VolumeQuotaExceeded = 'volume_quota_exceeded';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
