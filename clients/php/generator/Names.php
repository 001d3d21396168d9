<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Generator;

/** What things of the document are called in PHP. */
final class Names
{
    /** Where the place of a type, SchemaMember, would be an ugly name. */
    private const BETTER = [
        'AnswerApprovalAnswer' => 'ApprovalAnswer',
        'CreateTemplateRuntimeBaseline' => 'RuntimeBaselineRequest',
        'CreateTemplateVersionRuntimeBaseline' => 'RuntimeBaselineRequest',
        'DenialKind' => 'DenialKind',
        'ExposedPortProtocol' => 'Protocol',
        'KeyScopes' => 'Scope',
        'LifecycleOnPauseFailure' => 'OnPauseFailure',
        'LifecycleOnTimeout' => 'OnTimeout',
        'LimitsNetworkClass' => 'NetworkClass',
        'ListSandboxesState' => 'StateFilter',
        'MeUser' => 'User',
        'MetricsPoints' => 'MetricsPoint',
        'NetworkVerdictReason' => 'VerdictReason',
        'NetworkVerdictVerdict' => 'Verdict',
        'PortGatewayStatus' => 'GatewayStatus',
        'SandboxResumedFrom' => 'ResumedFrom',
        'CreateSessionLifetime' => 'Lifetime',
        'CreatedSessionLifetime' => 'Lifetime',
        'CreateSessionPurpose' => 'Purpose',
        'CreatedSessionPurpose' => 'Purpose',
        'TemplateVersionState' => 'BuildState',
        'UsageRuntimeSizes' => 'UsageRuntimeSize',
        'UsageStorageSizes' => 'UsageStorageSize',
        'VolumeDirectoryEntries' => 'VolumeDirectoryEntry',
        'VolumeEntryType' => 'EntryType',
    ];

    public static function type(string $schema, string $member): string
    {
        $name = $schema . self::studly($member);
        return self::BETTER[$name] ?? $name;
    }

    public static function studly(string $name): string
    {
        return str_replace(['_', '-', '.', ':'], '', ucwords($name, '_-.:'));
    }

    public static function member(string $name): string
    {
        return lcfirst(self::studly($name));
    }
}
