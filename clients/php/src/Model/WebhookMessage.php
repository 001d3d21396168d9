<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** A message that could not be delivered at once, or a test. */
final class WebhookMessage
{
    /** @param string $messageId The header webhook-id. */
    public function __construct(
        public readonly string $id,
        public readonly string $messageId,
        public readonly string $kind,
        public readonly WebhookMessageState $state,
        public readonly int $attempts,
        public readonly ?int $lastStatus,
        public readonly ?string $lastError,
        public readonly \DateTimeImmutable $createdAt,
        public readonly ?\DateTimeImmutable $nextAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            messageId: $fields->string('message_id'),
            kind: $fields->string('kind'),
            state: $fields->enum('state', WebhookMessageState::class),
            attempts: $fields->int('attempts'),
            lastStatus: $fields->intOrNull('last_status'),
            lastError: $fields->stringOrNull('last_error'),
            createdAt: $fields->time('created_at'),
            nextAt: $fields->timeOrNull('next_at'),
        );
    }
}
