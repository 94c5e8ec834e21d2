"""The networks that export_networks.py exports: names of timm and torchvision, and configurations of
transformers made small."""

# Image networks of timm, each of a family of its own.
TIMM = """
resnet18 resnet50 resnext50_32x4d wide_resnet50_2 seresnet50 resnest14d res2net50_26w_4s skresnet18
densenet121 dla34 vgg11 inception_v3 inception_v4 xception41 mobilenetv2_100 mobilenetv3_small_100
mobilenetv4_conv_small efficientnet_b0 tf_efficientnet_b0 tf_efficientnetv2_b0 tf_mobilenetv3_small_100
tf_mixnet_s mnasnet_100 fbnetc_100 ghostnet_100 hardcorenas_a regnetx_002 regnety_002 rexnet_100
repvgg_a0 cspresnet50 cspdarknet53 darknet53 hrnet_w18_small selecsls42 nfnet_l0 dm_nfnet_f0
eca_nfnet_l0 convnext_atto convnextv2_atto convmixer_768_32 convit_tiny coat_lite_tiny coatnet_0_rw_224
maxvit_rmlp_pico_rw_256 crossvit_9_240 deit_tiny_patch16_224 vit_tiny_patch16_224 beit_base_patch16_224
cait_xxs24_224 xcit_nano_12_p8_224 swin_tiny_patch4_window7_224 swinv2_tiny_window8_256
swin_s3_tiny_224 twins_pcpvt_small twins_svt_small pit_ti_224 levit_128s visformer_tiny tnt_s_patch16_224
volo_d1_224 poolformer_s12 poolformerv2_s12 pvt_v2_b0 edgenext_xx_small mobilevit_xxs mobilevitv2_050
mobileone_s0 fastvit_t8 efficientformer_l1 efficientformerv2_s0 efficientvit_b0 efficientvit_m0 focalnet_tiny_srf
gcvit_xxtiny davit_tiny nest_tiny mixer_s32_224 resmlp_12_224 gmlp_s16_224 gernet_s lcnet_050
tinynet_e inception_next_tiny repghostnet_050 repvit_m0_9 vovnet39a ese_vovnet19b_dw mvitv2_tiny
sequencer2d_s tiny_vit_5m_224 eva02_tiny_patch14_224 hgnet_tiny starnet_s1
botnet26t_256 halonet26t lambda_resnet26t csatv2 cspnext_tiny dpn68 efficientvim_m1 fasternet_t0
hiera_tiny_224 sam2_hiera_tiny iformer_t inception_resnet_v2 lcnetv2_small lowformer_b0 mambaout_femto
nextvit_small rdnet_tiny resnetv2_50 legacy_seresnet18 shvit_s1 swiftformer_xs swinv2_cr_tiny_224
tresnet_m vit_tiny_r_s16_p8_224 vit_relpos_small_patch16_224 samvit_base_patch16_224 vitamin_small_224
legacy_xception cpubone_nano mobilenetv5_base
""".split()

# Networks of torchvision; segmentation networks are in a module of their own, video networks take clips.
TORCHVISION = """
alexnet squeezenet1_1 googlenet shufflenet_v2_x0_5 mnasnet0_5 regnet_y_400mf vit_b_32 swin_v2_t maxvit_t
efficientnet_v2_s convnext_tiny segmentation.deeplabv3_mobilenet_v3_large
segmentation.lraspp_mobilenet_v3_large segmentation.fcn_resnet50 segmentation.deeplabv3_resnet50
video.r3d_18 video.mc3_18 video.r2plus1d_18
""".split()

# Configurations of transformers, made small: class, changed fields, inputs.
TEXT = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256,
        "vocab_size": 1000}
VISION = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}
DECODER = {**TEXT, "num_key_value_heads": 2}
SEQ2SEQ = {"d_model": 128, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
           "decoder_attention_heads": 4, "encoder_ffn_dim": 256, "decoder_ffn_dim": 256, "vocab_size": 1000,
           "pad_token_id": 0}
TRANSFORMERS = {
    "bert": ("BertConfig", "BertModel", TEXT),
    "distilbert": ("DistilBertConfig", "DistilBertModel",
                   {"dim": 128, "n_layers": 2, "n_heads": 4, "hidden_dim": 256, "vocab_size": 1000}),
    "roberta": ("RobertaConfig", "RobertaModel", TEXT),
    "albert": ("AlbertConfig", "AlbertModel", {**TEXT, "embedding_size": 64}),
    "electra": ("ElectraConfig", "ElectraModel", {**TEXT, "embedding_size": 64}),
    "mpnet": ("MPNetConfig", "MPNetModel", TEXT),
    "xlnet": ("XLNetConfig", "XLNetModel",
              {"d_model": 128, "n_layer": 2, "n_head": 4, "d_inner": 256, "vocab_size": 1000}),
    "gpt2": ("GPT2Config", "GPT2Model", {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 1000}),
    "opt": ("OPTConfig", "OPTModel",
            {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 256,
             "vocab_size": 1000, "word_embed_proj_dim": 128}),
    "bloom": ("BloomConfig", "BloomModel", {"hidden_size": 128, "n_layer": 2, "n_head": 4, "vocab_size": 1000}),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXModel", TEXT),
    "llama": ("LlamaConfig", "LlamaModel", {**TEXT, "num_key_value_heads": 2}),
    "qwen2": ("Qwen2Config", "Qwen2Model", {**TEXT, "num_key_value_heads": 2}),
    "t5_encoder": ("T5Config", "T5EncoderModel",
                   {"d_model": 128, "num_layers": 2, "num_heads": 4, "d_ff": 256, "d_kv": 32,
                    "vocab_size": 1000}),
    "deberta_v2": ("DebertaV2Config", "DebertaV2Model", TEXT),
    "vit": ("ViTConfig", "ViTModel", VISION),
    "dinov2": ("Dinov2Config", "Dinov2Model", {**VISION, "image_size": 224, "patch_size": 14}),
    "clip_vision": ("CLIPVisionConfig", "CLIPVisionModel", VISION),
    "segformer": ("SegformerConfig", "SegformerModel", {}),
    "wav2vec2": ("Wav2Vec2Config", "Wav2Vec2Model", TEXT),
    "whisper_encoder": ("WhisperConfig", "WhisperEncoder",
                        {"d_model": 128, "encoder_layers": 2, "encoder_attention_heads": 4,
                         "encoder_ffn_dim": 256, "vocab_size": 1000}),
    "camembert": ("CamembertConfig", "CamembertModel", TEXT),
    "convbert": ("ConvBertConfig", "ConvBertModel", TEXT),
    "deberta": ("DebertaConfig", "DebertaModel", TEXT),
    "esm": ("EsmConfig", "EsmModel", {**TEXT, "pad_token_id": 1, "position_embedding_type": "rotary"}),
    "fnet": ("FNetConfig", "FNetModel", TEXT),
    "funnel": ("FunnelConfig", "FunnelModel",
               {"d_model": 128, "block_sizes": [1, 1], "n_head": 4, "d_head": 32, "d_inner": 256,
                "vocab_size": 1000, "num_decoder_layers": 1}),
    "ibert": ("IBertConfig", "IBertModel", TEXT),
    "longformer": ("LongformerConfig", "LongformerModel", {**TEXT, "attention_window": [16, 16]}),
    "mobilebert": ("MobileBertConfig", "MobileBertModel", {"num_hidden_layers": 2, "vocab_size": 1000}),
    "modernbert": ("ModernBertConfig", "ModernBertModel",
                   {**TEXT, "pad_token_id": 0, "bos_token_id": 1, "cls_token_id": 1, "eos_token_id": 2,
                    "sep_token_id": 2}),
    "nystromformer": ("NystromformerConfig", "NystromformerModel",
                      {**TEXT, "segment_means_seq_len": 32, "num_landmarks": 32}),
    "big_bird": ("BigBirdConfig", "BigBirdModel", {**TEXT, "attention_type": "original_full"}),
    "roformer": ("RoFormerConfig", "RoFormerModel", TEXT),
    "squeezebert": ("SqueezeBertConfig", "SqueezeBertModel", {**TEXT, "embedding_size": 128}),
    "xlm": ("XLMConfig", "XLMModel", {"emb_dim": 128, "n_layers": 2, "n_heads": 4, "n_words": 1000}),
    "canine": ("CanineConfig", "CanineModel", TEXT),
    "bart": ("BartConfig", "BartModel", SEQ2SEQ),
    "pegasus": ("PegasusConfig", "PegasusModel", SEQ2SEQ),
    "marian": ("MarianConfig", "MarianModel", SEQ2SEQ),
    "m2m_100": ("M2M100Config", "M2M100Model", SEQ2SEQ),
    "codegen": ("CodeGenConfig", "CodeGenModel",
                {"n_embd": 128, "n_layer": 2, "n_head": 4, "rotary_dim": 16, "vocab_size": 1000}),
    "gptj": ("GPTJConfig", "GPTJModel",
             {"n_embd": 128, "n_layer": 2, "n_head": 4, "rotary_dim": 16, "vocab_size": 1000}),
    "gpt_neo": ("GPTNeoConfig", "GPTNeoModel",
                {"hidden_size": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 1000,
                 "attention_types": [[["global", "local"], 1]]}),
    "gpt_bigcode": ("GPTBigCodeConfig", "GPTBigCodeModel",
                    {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 1000}),
    "falcon": ("FalconConfig", "FalconModel", TEXT),
    "mpt": ("MptConfig", "MptModel", {"d_model": 128, "n_layers": 2, "n_heads": 4, "vocab_size": 1000}),
    "gemma2": ("Gemma2Config", "Gemma2Model", {**DECODER, "head_dim": 32}),
    "gemma3": ("Gemma3TextConfig", "Gemma3TextModel", {**DECODER, "head_dim": 32}),
    "mistral": ("MistralConfig", "MistralModel", DECODER),
    "mixtral": ("MixtralConfig", "MixtralModel", {**DECODER, "num_local_experts": 4}),
    "phi": ("PhiConfig", "PhiModel", DECODER),
    "phi3": ("Phi3Config", "Phi3Model", {**DECODER, "pad_token_id": 0}),
    "qwen3": ("Qwen3Config", "Qwen3Model", {**DECODER, "head_dim": 32}),
    "qwen3_moe": ("Qwen3MoeConfig", "Qwen3MoeModel",
                  {**DECODER, "head_dim": 32, "num_experts": 4, "num_experts_per_tok": 2,
                   "moe_intermediate_size": 64}),
    "olmo2": ("Olmo2Config", "Olmo2Model", {**DECODER, "pad_token_id": 0}),
    "stablelm": ("StableLmConfig", "StableLmModel", DECODER),
    "starcoder2": ("Starcoder2Config", "Starcoder2Model", DECODER),
    "granite": ("GraniteConfig", "GraniteModel", DECODER),
    "mamba": ("MambaConfig", "MambaModel", {"hidden_size": 128, "num_hidden_layers": 2, "vocab_size": 1000}),
    "clip_text": ("CLIPTextConfig", "CLIPTextModel", {**TEXT, "eos_token_id": 2}),
    "siglip_text": ("SiglipTextConfig", "SiglipTextModel", {**TEXT, "projection_size": 128}),
    "beit": ("BeitConfig", "BeitModel", VISION),
    "cvt": ("CvtConfig", "CvtModel", {"depth": [1, 2, 3]}),
    "depth_anything": ("DepthAnythingConfig", "DepthAnythingForDepthEstimation",
                       {"backbone_config": {**VISION, "model_type": "dinov2", "image_size": 224, "patch_size": 14,
                                            "out_indices": [1, 2, 3, 4], "num_hidden_layers": 4,
                                            "reshape_hidden_states": False},
                        "reassemble_hidden_size": 128, "neck_hidden_sizes": [16, 32, 64, 64],
                        "fusion_hidden_size": 32}),
    "detr": ("DetrConfig", "DetrForObjectDetection",
             {"backbone_config": {"model_type": "resnet", "out_features": ["stage4"]}, "d_model": 128,
              "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
              "decoder_attention_heads": 4, "encoder_ffn_dim": 256, "decoder_ffn_dim": 256}),
    "dpt": ("DPTConfig", "DPTForDepthEstimation",
            {**VISION, "num_hidden_layers": 4, "image_size": 224, "backbone_out_indices": [0, 1, 2, 3],
             "neck_hidden_sizes": [16, 32, 64, 64], "fusion_hidden_size": 32}),
    "glpn": ("GLPNConfig", "GLPNForDepthEstimation", {"depths": [1, 1, 1, 1]}),
    "hiera": ("HieraConfig", "HieraModel", {"embed_dim": 32, "depths": [1, 1, 2, 1]}),
    "mask2former": ("Mask2FormerConfig", "Mask2FormerForUniversalSegmentation",
                    {"encoder_layers": 2, "decoder_layers": 2, "num_queries": 20}),
    "maskformer": ("MaskFormerConfig", "MaskFormerForInstanceSegmentation", {}),
    "sam_vision": ("SamVisionConfig", "SamVisionModel",
                   {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "mlp_dim": 256,
                    "image_size": 224, "global_attn_indexes": [1]}),
    "siglip_vision": ("SiglipVisionConfig", "SiglipVisionModel", VISION),
    "swin2sr": ("Swin2SRConfig", "Swin2SRForImageSuperResolution",
                {"embed_dim": 60, "depths": [2, 2], "num_heads": [6, 6], "image_size": 64, "upscale": 2}),
    "table_transformer": ("TableTransformerConfig", "TableTransformerForObjectDetection",
                          {"backbone_config": {"model_type": "resnet", "out_features": ["stage4"]},
                           "d_model": 128, "encoder_layers": 2, "decoder_layers": 2}),
    "timesformer": ("TimesformerConfig", "TimesformerModel", {**VISION, "num_frames": 4}),
    "upernet": ("UperNetConfig", "UperNetForSemanticSegmentation",
                {"backbone_config": {"model_type": "convnext", "hidden_sizes": [96, 192, 384, 768],
                                     "out_features": ["stage1", "stage2", "stage3", "stage4"]},
                 "hidden_size": 64, "auxiliary_channels": 32}),
    "videomae": ("VideoMAEConfig", "VideoMAEModel", {**VISION, "num_frames": 4}),
    "vivit": ("VivitConfig", "VivitModel", {**VISION, "num_frames": 4}),
    "vitdet": ("VitDetConfig", "VitDetModel", {"hidden_size": 128, "num_hidden_layers": 2,
                                               "num_attention_heads": 4, "window_size": 7}),
    "yolos": ("YolosConfig", "YolosForObjectDetection", {**VISION, "image_size": [224, 224]}),
    "ast": ("ASTConfig", "ASTModel", VISION),
    "clap_audio": ("ClapAudioConfig", "ClapAudioModel", {}),
    "dac": ("DacConfig", "DacModel", {"encoder_hidden_size": 16, "decoder_hidden_size": 256}),
    "data2vec_audio": ("Data2VecAudioConfig", "Data2VecAudioModel", TEXT),
    "encodec": ("EncodecConfig", "EncodecModel", {"num_filters": 8, "hidden_size": 32}),
    "hubert": ("HubertConfig", "HubertModel", TEXT),
    "mimi": ("MimiConfig", "MimiModel",
             {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 32,
              "num_key_value_heads": 4, "intermediate_size": 256, "num_filters": 8, "upsample_groups": 128}),
    "sew": ("SEWConfig", "SEWModel", TEXT),
    "sew_d": ("SEWDConfig", "SEWDModel", TEXT),
    "speecht5_hifigan": ("SpeechT5HifiGanConfig", "SpeechT5HifiGan", {"upsample_initial_channel": 64}),
    "unispeech": ("UniSpeechConfig", "UniSpeechModel", TEXT),
    "wav2vec2_bert": ("Wav2Vec2BertConfig", "Wav2Vec2BertModel", TEXT),
    "wav2vec2_conformer": ("Wav2Vec2ConformerConfig", "Wav2Vec2ConformerModel", TEXT),
    "wavlm": ("WavLMConfig", "WavLMModel", TEXT),
    "patchtst": ("PatchTSTConfig", "PatchTSTModel",
                 {"num_input_channels": 7, "context_length": 96, "d_model": 64, "num_hidden_layers": 2}),
    "patchtsmixer": ("PatchTSMixerConfig", "PatchTSMixerModel",
                     {"num_input_channels": 7, "context_length": 96, "d_model": 32, "num_layers": 2}),
}
PIXELS = ("pixel_values", (2, 3, 224, 224))
VIDEO = ("pixel_values", (2, 4, 3, 224, 224))
WAVE = ("input_values", (2, 16000))
# Inputs of the networks that read no text.
INPUTS = {
    **dict.fromkeys(["vit", "dinov2", "clip_vision", "segformer", "beit", "cvt", "depth_anything", "detr",
                     "dpt", "glpn", "hiera", "maskformer", "mask2former", "sam_vision", "siglip_vision",
                     "table_transformer", "upernet", "vitdet", "yolos"], PIXELS),
    **dict.fromkeys(["timesformer", "videomae", "vivit"], VIDEO),
    **dict.fromkeys(["wav2vec2", "data2vec_audio", "hubert", "sew", "sew_d", "unispeech",
                     "wav2vec2_conformer", "wavlm"], WAVE),
    **dict.fromkeys(["dac", "encodec", "mimi"], ("input_values", (2, 1, 16000))),
    **dict.fromkeys(["patchtst", "patchtsmixer"], ("past_values", (2, 96, 7))),
    "swin2sr": ("pixel_values", (2, 3, 64, 64)),
    "whisper_encoder": ("input_features", (2, 80, 3000)),
    "ast": ("input_values", (2, 1024, 128)),
    "clap_audio": ("input_features", (2, 1, 1001, 64)),
    "speecht5_hifigan": ("spectrogram", (2, 50, 80)),
    "wav2vec2_bert": ("input_features", (2, 100, 160)),
}
