<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** One act, or the end of one that took long. */
final class AuditEntry
{
    /**
     * @param string $action The act.
     * @param string $resource The object of the act: an id, a slug, or the name of a member; empty when the act has
     *   none.
     * @param string|null $resourceName The present name of the sandbox, checkpoint or volume; null: it has none, or
     *   is gone for long.
     * @param AuditEntryActor $actor The actor.
     * @param string|null $address Address of the client; null without a client, and for readers that are not owners.
     * @param string|null $requestId X-Request-Id of the request.
     * @param AuditEntryResult $result `begun`: an act that takes long; another entry with its id in begun_id says
     *   how it ended. `refused`: for want of rights.
     * @param string|null $error Code of the error of one that failed or was refused.
     * @param string|null $begunId The entry of the beginning of this act.
     */
    public function __construct(
        public readonly string $id,
        public readonly \DateTimeImmutable $at,
        public readonly string $action,
        public readonly string $resource,
        public readonly ?string $resourceName,
        public readonly AuditEntryActor $actor,
        public readonly ?string $address,
        public readonly ?string $requestId,
        public readonly AuditEntryResult $result,
        public readonly ?string $error,
        public readonly ?string $begunId,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            at: $fields->time('at'),
            action: $fields->string('action'),
            resource: $fields->string('resource'),
            resourceName: $fields->stringOrNull('resource_name'),
            actor: $fields->object('actor', AuditEntryActor::read(...)),
            address: $fields->stringOrNull('address'),
            requestId: $fields->stringOrNull('request_id'),
            result: $fields->enum('result', AuditEntryResult::class),
            error: $fields->stringOrNull('error'),
            begunId: $fields->stringOrNull('begun_id'),
        );
    }
}
