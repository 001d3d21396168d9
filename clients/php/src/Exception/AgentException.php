<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** The agent in the sandbox refused, for example because a file does not exist or a process has ended. */
final class AgentException extends \RuntimeException implements SandlotException
{
    /** The requests to sandboxes that are no calls of the Connect protocol answer with the status alone. */
    private const REASONS = [
        400 => 'invalid_argument',
        401 => 'unauthenticated',
        403 => 'permission_denied',
        404 => 'not_found',
        409 => 'already_exists',
        413 => 'out_of_range',
        429 => 'resource_exhausted',
        504 => 'deadline_exceeded',
        507 => 'resource_exhausted',
    ];

    /**
     * @param string $reason a code of the Connect protocol, such as not_found
     * @param int $status of HTTP; 200 for the error at the end of a stream
     * @param float|null $retryAfter seconds
     */
    public function __construct(
        string $message,
        public readonly string $reason,
        public readonly int $status,
        public readonly ?float $retryAfter = null,
    ) {
        parent::__construct($message, $status);
    }

    public static function reasonOf(int $status): string
    {
        return self::REASONS[$status] ?? 'unknown';
    }

    public function isNotFound(): bool
    {
        return $this->reason === 'not_found';
    }
}
