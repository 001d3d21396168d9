<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The network policy. */
final class Network
{
    /**
     * @param bool $allowPublicTraffic Whether previews of public ports are open to everyone.
     * @param list<string> $allowOut
     * @param list<string> $denyOut
     * @param list<string> $egressProfiles
     * @param NetworkStatus $status Whether the policy is in force. While it is `pending`, the previous policy
     *   applies; without a previous policy, the sandbox reaches nothing. The service tries again until the policy is
     *   applied.
     * @param string|null $statusReason Why it is pending; null once it is applied.
     * @param list<EgressRule>|null $rules
     * @param bool|null $ask Present and true if the owner is asked where no entry matches.
     */
    public function __construct(
        public readonly bool $allowInternetAccess,
        public readonly bool $allowPackageRegistryAccess,
        public readonly bool $allowPublicTraffic,
        public readonly array $allowOut,
        public readonly array $denyOut,
        public readonly array $egressProfiles,
        public readonly NetworkStatus $status,
        public readonly ?string $statusReason,
        public readonly ?array $rules,
        public readonly ?bool $ask,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            allowInternetAccess: $fields->bool('allow_internet_access'),
            allowPackageRegistryAccess: $fields->bool('allow_package_registry_access'),
            allowPublicTraffic: $fields->bool('allow_public_traffic'),
            allowOut: $fields->strings('allow_out'),
            denyOut: $fields->strings('deny_out'),
            egressProfiles: $fields->strings('egress_profiles'),
            status: $fields->enum('status', NetworkStatus::class),
            statusReason: $fields->stringOrNull('status_reason'),
            rules: $fields->objectsOrNull('rules', EgressRule::read(...)),
            ask: $fields->boolOrNull('ask'),
        );
    }
}
