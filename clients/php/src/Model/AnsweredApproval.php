<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class AnsweredApproval
{
    /**
     * @param \DateTimeImmutable|null $until The end of the answer; null: it lasts.
     * @param NetworkStatus $status Whether the policy is in force.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $target,
        public readonly AnsweredApprovalState $state,
        public readonly \DateTimeImmutable $askedAt,
        public readonly ?\DateTimeImmutable $until,
        public readonly NetworkStatus $status,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            target: $fields->string('target'),
            state: $fields->enum('state', AnsweredApprovalState::class),
            askedAt: $fields->time('asked_at'),
            until: $fields->timeOrNull('until'),
            status: $fields->enum('status', NetworkStatus::class),
        );
    }
}
