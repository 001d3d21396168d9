<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class WebhookWithSecret
{
    /**
     * @param WebhookForm $form How its messages look: by Standard Webhooks, or as clients of E2B know them, for one
     *   that such a client has made.
     * @param list<EventKind> $kinds
     * @param string $lastId Every event up to this one was delivered, or is a message of the webhook.
     * @param \DateTimeImmutable|null $oldSecretUntil So long the secret before the last rotation signs too.
     * @param string $secret Shown once.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $team,
        public readonly WebhookForm $form,
        public readonly string $url,
        public readonly array $kinds,
        public readonly bool $enabled,
        public readonly string $lastId,
        public readonly ?\DateTimeImmutable $deliveredAt,
        public readonly ?\DateTimeImmutable $failedAt,
        public readonly ?\DateTimeImmutable $oldSecretUntil,
        public readonly \DateTimeImmutable $createdAt,
        public readonly string $secret,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            team: $fields->string('team'),
            form: $fields->enum('form', WebhookForm::class),
            url: $fields->string('url'),
            kinds: $fields->enums('kinds', EventKind::class),
            enabled: $fields->bool('enabled'),
            lastId: $fields->string('last_id'),
            deliveredAt: $fields->timeOrNull('delivered_at'),
            failedAt: $fields->timeOrNull('failed_at'),
            oldSecretUntil: $fields->timeOrNull('old_secret_until'),
            createdAt: $fields->time('created_at'),
            secret: $fields->string('secret'),
        );
    }
}
